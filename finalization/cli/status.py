"""`finalization status`: one table or thousands, and why each watermark stands where it is."""

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from finalization.cli import output
from finalization.cli.options import (
    CatalogOption,
    JsonOption,
    PipelineOption,
    PropertyOption,
    now_ms,
    opener,
    read_interval,
)
from finalization.status import TableStatus
from finalization.times import format_duration


class Order(StrEnum):
    """What `--sort` takes."""

    LAG = "lag"
    NAME = "name"
    LATE = "late"
    COMMIT = "commit"


def register(app: typer.Typer) -> None:
    app.command("status")(status)


def status(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="Full names. Without any: all tables that have a watermark or a policy.", metavar="[TABLE…]"
        ),
    ] = None,
    match: Annotated[
        str | None, typer.Option("--filter", help="Only tables whose name matches, such as 'lake.*_cdc'.")
    ] = None,
    sort: Annotated[Order, typer.Option(help="Order of the rows.")] = Order.LAG,
    max_lag: Annotated[
        str | None,
        typer.Option(
            help="Exit with 6 if a watermark lags more than this, such as 3h, or a table is broken."
        ),
    ] = None,
    json: JsonOption = False,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """Show watermark, lag, last commit, policy, late records, and why the watermark stands where it is.

    A table that cannot be read is a row that says so. Exit codes: 0; 4 a named table is not there; 5 the
    catalog is unreachable; 6 see --max-lag.
    """
    from finalization.survey import survey

    limit = read_interval(max_lag, "--max-lag")
    open_client = opener(pipeline, catalog, properties)
    rows = list(survey(open_client, tables or None, match, now_ms()))
    rows.sort(key=_key(sort))
    if json:
        output.print_json([row.to_json() for row in rows])
    else:
        _print_table(rows)
    if limit is not None and (stalled := [row for row in rows if row.stalled(limit)]):
        names = ", ".join(row.table for row in stalled[:5]) + (" …" if len(stalled) > 5 else "")
        print(
            f"error: {len(stalled)} of {len(rows)} tables lag more than {max_lag}: {names}", file=sys.stderr
        )
        raise typer.Exit(output.STALLED)


def _key(sort: Order) -> Callable[[TableStatus], Any]:
    keys: dict[Order, Callable[[TableStatus], Any]] = {
        # Without a watermark the lag has no end: first, as what lags most.
        Order.LAG: lambda row: (row.lag_ms is not None, -(row.lag_ms or 0), row.table),
        Order.NAME: lambda row: row.table,
        Order.LATE: lambda row: (-row.late_records, row.table),
        Order.COMMIT: lambda row: (-(row.last_commit_ms or 0), row.table),
    }
    return keys[sort]


def _print_table(rows: list[TableStatus]) -> None:
    from rich.console import Console
    from rich.table import Table

    view = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("table", "final up to", "lag", "last commit", "policy", "late", "why"):
        view.add_column(name, justify="right" if name in ("lag", "late") else "left", overflow="fold")
    for row in rows:
        view.add_row(
            row.table,
            output.instant(row.watermark_ms),
            "–" if row.lag_ms is None else format_duration(row.lag_ms),
            output.instant(None if row.last_commit_ms is None else row.last_commit_ms // 1000 * 1000),
            row.policy,
            str(row.late_records),
            f"[red]{row.reason}[/red]" if row.code == "error" else row.reason,
        )
    # Without a terminal nothing is folded: the output is read by other programs.
    console = Console() if sys.stdout.isatty() else Console(width=10_000, soft_wrap=True)
    console.print(view if rows else "no table has a watermark or a finalization policy")
