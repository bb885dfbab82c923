"""`finalization history`: one table's commits and the event times in each."""

import sys
from typing import Annotated

import typer

from finalization.cli import output
from finalization.cli.options import (
    BranchOption,
    CatalogOption,
    JsonOption,
    PipelineOption,
    PropertyOption,
    TableArgument,
    open_client,
)
from finalization.history import HistoryRow, history_of
from finalization.times import format_instant


def register(app: typer.Typer) -> None:
    app.command("history")(history)


def history(
    table: TableArgument,
    limit: Annotated[int, typer.Option(help="How many of the newest snapshots.", min=1)] = 30,
    branch: BranchOption = "main",
    json: JsonOption = False,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """List a table's newest snapshots, oldest first, with a plot of the event times in each."""
    state = open_client(pipeline, catalog, properties).state(table)
    rows = history_of(state, limit, branch)
    if json:
        output.print_json([row.to_json() for row in rows])
        return
    _print_rows(rows, state.watermark_ms(branch))


def _print_rows(rows: list[HistoryRow], watermark_ms: int | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console() if sys.stdout.isatty() else Console(width=180)
    times = [t for row in rows for t in (row.min_ms, row.max_ms) if t is not None]
    low, high = (min(times), max(times)) if times else (0, 0)
    if watermark_ms is not None and times:
        low, high = min(low, watermark_ms), max(high, watermark_ms)
    width = max(20, console.width - 92)
    view = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("committed", "snapshot", "operation", "records", "late"):
        view.add_column(name, justify="right" if name in ("records", "late") else "left", no_wrap=True)
    legend = f"{output.instant(low)} … {output.instant(high)}" if times else "event times"
    view.add_column(legend, no_wrap=True, min_width=width)
    for row in rows:
        plot = row.note if row.min_ms is None else spread(row, watermark_ms, low, high, width)
        view.add_row(
            format_instant(row.committed_ms // 1000 * 1000),
            str(row.snapshot_id),
            row.operation,
            str(row.records),
            str(row.late_records or ""),
            plot,
        )
    console.print(view if rows else "the table has no snapshots yet")
    if times:
        console.print(f"─ min…max   ━ p5…p95   ┃ watermark {output.instant(watermark_ms)}", style="dim")


def spread(row: HistoryRow, watermark_ms: int | None, low: int, high: int, width: int) -> str:
    """One line: the spread of a commit's event times between two instants."""
    scale = (width - 1) / max(1, high - low)

    def column(instant: int) -> int:
        return min(width - 1, max(0, round((instant - low) * scale)))

    cells = [" "] * width
    for mark, start, end in (("─", row.min_ms, row.max_ms), ("━", row.p5_ms, row.p95_ms)):
        if start is not None and end is not None:
            for i in range(column(start), column(end) + 1):
                cells[i] = mark
    if watermark_ms is not None:
        cells[column(watermark_ms)] = "┃"
    return "".join(cells)
