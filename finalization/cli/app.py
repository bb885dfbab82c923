"""The command line's entry: own commands, and those of other packages by the entry-point group."""

import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import typer

from finalization.cli.output import fail
from finalization.exceptions import FinalizationError

GROUP = "finalization.commands"
"""Each entry point is a function `register(app: typer.Typer) -> None`."""

_OWN = ("status", "history", "wait", "late", "policy", "backtest", "export")


def create_app(plugins: list[EntryPoint] | None = None) -> typer.Typer:
    """All commands. A plugin that cannot be loaded costs a line of warning and its own commands only."""
    app = typer.Typer(
        name="finalization",
        help="Tells when partitions of a streaming Apache Iceberg table are final.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name in _OWN:
        import_module(f"finalization.cli.{name}").register(app)
    for plugin in sorted(entry_points(group=GROUP) if plugins is None else plugins, key=lambda p: p.name):
        try:
            plugin.load()(app)
        except Exception as e:  # whatever it is, the other commands must work
            print(f"warning: command '{plugin.name}' is not available: {e}", file=sys.stderr)
    return app


def main() -> None:
    """Runs the command line; an error raised on purpose is one line and an exit code, not a traceback."""
    try:
        create_app()()
    except FinalizationError as e:
        fail(e)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
