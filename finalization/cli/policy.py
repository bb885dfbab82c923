"""`finalization policy`: checks, shows and applies policies."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from finalization.cli import output
from finalization.cli.options import (
    CatalogOption,
    JsonOption,
    PipelineOption,
    PropertyOption,
    TableArgument,
    load_pipeline,
    open_client,
    pairs,
)
from finalization.exceptions import ConfigurationError
from finalization.options import OPTIONS, PREFIX
from finalization.policy_change import plan

if TYPE_CHECKING:
    from finalization.table_state import TableState

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A policy key without prefix, KEY=VALUE; may be repeated.", show_default=False
    ),
]
UnsetOption = Annotated[
    list[str] | None, typer.Option("--unset", help="Takes a key back to its default; may be repeated.")
]
OptionalTable = Annotated[
    str | None, typer.Argument(help="The table's full name; default: the pipeline's CDC table.")
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Check, show and apply a table's finalization policy.", no_args_is_help=True)
    group.command("check")(check)
    group.command("show")(show)
    group.command("apply")(apply)
    app.add_typer(group, name="policy")


def check(
    table: OptionalTable = None,
    sets: SetOption = None,
    unsets: UnsetOption = None,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """Check a pipeline file, or what a table's policy is or would be with --set. Writes nothing.

    Exit codes: 0 sound; 2 refused, with the reason and the fix; 4 there is no such table.
    """
    wanted = _wanted(pipeline, sets)
    if table is None and catalog is None:
        if pipeline is None:
            raise ConfigurationError("name a table, or a pipeline file with --pipeline")
        typer.echo("sound")
        return
    state = open_client(pipeline, catalog, properties).state(_table(table, pipeline))
    for note in plan(state, wanted, _keys(unsets)).notes:
        typer.echo(f"note: {note}")
    typer.echo("sound")


def show(
    table: TableArgument,
    json: JsonOption = False,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """Show every policy key of a table: its value, and whether it is set or the default."""
    state = open_client(pipeline, catalog, properties).state(table)
    rows = _rows(state)
    if json:
        output.print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    view = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("key", "value", "from", "takes effect"):
        view.add_column(name, overflow="fold")
    for row in rows:
        style = "" if row["set"] else "dim"
        origin = "table" if row["set"] else "default"
        view.add_row(row["key"], row["value"] or "–", origin, row["takes_effect"], style=style)
    Console().print(view)


def apply(
    table: OptionalTable = None,
    sets: SetOption = None,
    unsets: UnsetOption = None,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """Write a policy into table properties: the pipeline file's, then --set and --unset.

    A running job follows at its next commit. Snapshot expiry is told to keep the history that the rule
    looks at. The watermark never goes back, whatever the policy.
    """
    client = open_client(pipeline, catalog, properties)
    name = _table(table, pipeline)
    change = plan(client.state(name), _wanted(pipeline, sets), _keys(unsets))
    client.set_properties(name, change.updates, change.removals)
    for note in change.notes:
        typer.echo(f"note: {note}")
    for key, text in change.updates.items():
        typer.echo(f"{key} = {text}")
    for key in change.removals:
        typer.echo(f"{key} removed")
    if not change.updates and not change.removals:
        typer.echo("nothing to change")


def _wanted(pipeline: Any, sets: list[str] | None) -> dict[str, str]:
    """The pipeline's policy, overridden by --set."""
    from_file = load_pipeline(pipeline).policy_properties() if pipeline is not None else {}
    return from_file | {_full(key): text for key, text in pairs(sets, "--set").items()}


def _keys(unsets: list[str] | None) -> tuple[str, ...]:
    return tuple(_full(key) for key in unsets or ())


def _full(key: str) -> str:
    return key if key.startswith(PREFIX) else PREFIX + key


def _table(table: str | None, pipeline: Any) -> str:
    if table is not None:
        return table
    if pipeline is None:
        raise ConfigurationError("name a table, or a pipeline file with --pipeline")
    return load_pipeline(pipeline).tables.cdc


def _rows(state: "TableState") -> list[dict[str, Any]]:
    return [
        {
            "key": option.key,
            "value": state.properties.get(option.key, option.default),
            "set": option.key in state.properties,
            "takes_effect": option.takes_effect,
        }
        for option in OPTIONS
    ]
