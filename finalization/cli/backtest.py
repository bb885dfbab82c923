"""`finalization backtest`: a table's own history under other policies, side by side."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    read_instant,
)
from finalization.exceptions import ConfigurationError, FinalizationError
from finalization.times import format_duration, format_instant

if TYPE_CHECKING:
    from finalization.backtest import PastCommit, Replay
    from finalization.catalog import FinalizationClient


def register(app: typer.Typer) -> None:
    app.command("backtest")(backtest)


def backtest(
    table: TableArgument,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            help="A policy to try, as changes to the table's own: 'rule=lateness lateness-quantile=0.9'. "
            "May be repeated; without any, a choice of common ones.",
        ),
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Only commits from this instant on.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Only commits before this instant.")] = None,
    max_late: Annotated[
        float, typer.Option(help="The share of late records that the best trade-off may have.", min=0, max=1)
    ] = 0.005,
    scan: Annotated[bool, typer.Option("--scan", help="The table has no facts: read its rows once.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw completeness against latency into this .png or .svg file.")
    ] = None,
    branch: BranchOption = "main",
    json: JsonOption = False,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """Replay a table's facts under several policies: late records, waits, and the best trade-off.

    Reads snapshot summaries only (rows with --scan), as far back as snapshots are kept. A wait runs from a
    partition's end to the commit that made it final.
    """
    from finalization.backtest import Backtest, best, commits_of
    from finalization.candidates import candidates

    client = open_client(pipeline, catalog, properties)
    state = client.state(table)
    tried = candidates(state.properties, policies or ())
    within = (read_instant(from_, "--from"), read_instant(to, "--to"))
    commits = _scan(client, table, within) if scan else commits_of(state.lineage(branch), *within)
    if not any(commit.facts for commit in commits):
        hint = "" if scan else "; --scan reads the rows instead"
        raise FinalizationError(f"{table} has no commit with facts in this time{hint}")
    runner = Backtest(commits)
    replays = [runner.replay(policy, name) for name, policy in tried]
    choice = best(replays, max_late)
    if json:
        output.print_json([_to_json(replay, replay is choice) for replay in replays])
    else:
        _print(table, commits, replays, choice, max_late)
    if plot is not None:
        from finalization.plot import draw

        draw(replays, choice, table, plot)


def _scan(
    client: "FinalizationClient", table: str, within: tuple[int | None, int | None]
) -> list["PastCommit"]:
    from rich.console import Console
    from rich.progress import Progress

    from finalization.scan import scan_commits

    column = client.properties(table).get("finalization.event-time-column")
    if column is None:
        raise ConfigurationError(
            f"--scan needs the event time: finalization policy apply {table} --set event-time-column=…"
        )
    with Progress(console=Console(stderr=True), transient=True) as progress:
        files = client.data_files(table, column)
        task = progress.add_task(f"reading {column}", total=len(files))
        return scan_commits(files, *within, advance=lambda: progress.advance(task))


def _print(
    table: str, commits: "list[PastCommit]", replays: "list[Replay]", choice: "Replay | None", max_late: float
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console() if sys.stdout.isatty() else Console(width=160)
    first, last = format_instant(commits[0].timestamp_ms), format_instant(commits[-1].timestamp_ms)
    console.print(f"{table}: {len(commits)} commits from {first} to {last}, {replays[0].records} records")
    view = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("policy", "late", "share", "final", "wait median", "wait p95", ""):
        view.add_column(name, justify="left" if name in ("policy", "") else "right")
    for replay in replays:
        beaten = any(other.beats(replay) for other in replays)
        mark = "best" if replay is choice else "" if beaten else "no other is better on every axis"
        view.add_row(
            replay.name,
            str(replay.late_records),
            f"{replay.late_share:.3%}",
            f"{replay.final}/{replay.partitions}",
            _duration(replay.wait_median_ms),
            _duration(replay.wait_p95_ms),
            mark,
            style="bold" if replay is choice else "dim" if beaten else "",
        )
    console.print(view)
    if choice is not None and choice.late_share > max_late:
        console.print(
            f"no policy stays within {max_late:.3%} late records; the one with the fewest is marked"
        )


def _duration(ms: int | None) -> str:
    return "–" if ms is None else format_duration(ms)


def _to_json(replay: "Replay", is_best: bool) -> dict[str, Any]:
    return {
        "policy": replay.name,
        "commits": replay.commits,
        "records": replay.records,
        "late_records": replay.late_records,
        "late_share": replay.late_share,
        "late_commits": replay.late_commits,
        "partitions": replay.partitions,
        "partitions_final": replay.final,
        "wait_median_ms": replay.wait_median_ms,
        "wait_p95_ms": replay.wait_p95_ms,
        "watermark": None if replay.watermark_ms is None else format_instant(replay.watermark_ms),
        "best": is_best,
    }
