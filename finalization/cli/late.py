"""`finalization late`: the partitions that were reopened, and by how many records."""

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
    now_ms,
    open_client,
    read_instant,
    read_interval,
)
from finalization.exceptions import ConfigurationError
from finalization.reopened import reopened_partitions


def register(app: typer.Typer) -> None:
    app.command("late")(late)


def late(
    table: TableArgument,
    since: Annotated[
        str | None, typer.Option(help="Only commits from this instant on (ISO-8601), or this long ago (2h).")
    ] = None,
    branch: BranchOption = "main",
    json: JsonOption = False,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """List partitions that got records after they were final, over the snapshots still kept: reread these."""
    since_ms = _since(since)
    state = open_client(pipeline, catalog, properties).state(table)
    rows = reopened_partitions(state.lineage(branch), since_ms)
    if json:
        output.print_json([row.to_json() for row in rows])
        return
    from rich.console import Console
    from rich.table import Table

    view = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("partition", "until", "late records", "commits", "last commit", "snapshot"):
        view.add_column(name, justify="right" if name in ("late records", "commits") else "left")
    for row in rows:
        start = "older" if row.start_ms is None else output.instant(row.start_ms)
        last = output.instant(row.last_commit_ms // 1000 * 1000)
        counts = (str(row.records), str(row.commits))
        view.add_row(start, output.instant(row.end_ms), *counts, last, str(row.last_snapshot_id))
    console = Console() if sys.stdout.isatty() else Console(width=140)
    console.print(view if rows else "no partition was reopened")


def _since(text: str | None) -> int | None:
    if text is None or ("T" in text.lstrip("P") and not text.startswith("P")):
        return read_instant(text, "--since")
    try:
        ago = read_interval(text, "--since")
    except ConfigurationError:
        return read_instant(text, "--since")
    return None if ago is None else now_ms() - ago
