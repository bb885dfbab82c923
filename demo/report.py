"""What the demo prints at its end."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from demo.checks import Check
from demo.settings import Settings
from demo.view import View, amount, instant
from local_stack.stack import Stack


def print_summary(console: Console, view: View, seconds: float) -> None:
    """The figures of the whole run."""
    table = Table(
        title=f"{view.changes:,} changes in {seconds:.0f} s",
        title_justify="left",
        box=None,
        show_header=False,
    )
    table.add_column(style="cyan")
    table.add_column()
    for name, figures in _figures(view):
        table.add_row(name, figures)
    console.print()
    console.print(table)


def print_checks(console: Console, checks: Sequence[Check]) -> None:
    """One row a check."""
    passed = sum(check.passed for check in checks)
    title = f"{passed} of {len(checks)} checks passed"
    table = Table(
        title=title, title_justify="left", title_style="bold green" if passed == len(checks) else "bold red"
    )
    table.add_column("check")
    table.add_column("")
    table.add_column("figures")
    for check in checks:
        mark = "[green]yes[/green]" if check.passed else "[bold red]NO[/bold red]"
        table.add_row(check.statement, mark, Text(check.detail))
    console.print()
    console.print(table)


def print_addresses(console: Console, stack: Stack, web_page: str, settings: Settings) -> None:
    """Where the running parts are."""
    table = Table(
        title="Everything still runs. Ctrl-C ends it.", title_justify="left", box=None, show_header=False
    )
    table.add_column(style="cyan")
    table.add_column(overflow="fold")
    table.add_row("Flink's web page", web_page)
    table.add_row("PostgreSQL", stack.postgres.dsn)
    table.add_row("Kafka", stack.kafka.bootstrap)
    table.add_row("Kafka Connect", stack.connect.url)
    table.add_row("pipeline file", str(settings.pipeline_file))
    table.add_row("logs", str(settings.directory))
    console.print()
    console.print(table)


def _figures(view: View) -> list[tuple[str, str]]:
    counts, cdc, base = view.counts, view.cdc, view.base
    late = f"{amount(cdc.late, 'row')} late in {amount(len(cdc.late_hours), 'hour')}"
    return [
        (
            "Kafka",
            f"{counts.changes:,} change events, {counts.tombstones} tombstones, {counts.bad} bad messages",
        ),
        (
            "CDC table",
            f"{cdc.rows:,} rows in {cdc.commits} commits, final until {instant(cdc.watermark)}, {late}",
        ),
        ("dead letters", f"{view.dead_letters:,}"),
        (
            "base table",
            f"{base.rows:,} rows in {base.commits} commits, final until {instant(base.watermark)}",
        ),
        ("hours final", f"{view.hours_final}"),
        ("consumer", view.consumer),
    ]
