"""The subcommands `finalization upsert` and `finalization maintain`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated

import typer

from finalization.exceptions import ConfigurationError
from finalization.pipeline import load
from finalization.times import parse_interval
from spark_upsert.job import UpsertJob


def register(app: typer.Typer) -> None:
    """Adds this part's subcommands to the command line."""
    app.command("upsert")(upsert_command)
    app.command("maintain")(maintain_command)


def upsert_command(
    pipeline_file: Annotated[Path, typer.Argument(metavar="PIPELINE.yaml", help="The pipeline file.")],
    every: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Run again and again, such as every 5m, until SIGTERM or Ctrl-C."
        ),
    ] = None,
    max_snapshots: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Publish after at most N CDC snapshots; as often as needed."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Replace all rows of the base table by what the whole CDC table says."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read and published; write nothing.")
    ] = False,
    spark_settings: Annotated[
        list[str] | None,
        typer.Option("--spark", metavar="KEY=VALUE", help="More Spark configuration; repeatable."),
    ] = None,
) -> None:
    """Merge a pipeline's CDC table into its base table: rows and watermark become visible together."""
    interval_s, settings = check_options(every, max_snapshots, full, dry_run, spark_settings or [])
    pipeline = load(pipeline_file)
    job = UpsertJob.from_pipeline(pipeline)

    from spark_upsert import runner
    from spark_upsert.session import create_session
    from spark_upsert.upsert import preview

    spark = create_session(pipeline.catalog, settings)
    try:
        if dry_run:
            print(f"{job.base}: {runner.describe(preview(spark, job, rebuild=full))}")
        elif interval_s is None:
            for _ in runner.run_once(spark, job, _say, rebuild=full, max_snapshots=max_snapshots):
                pass
        else:
            # Not before Spark started, which sets a handler of its own.
            stop = _stop_on_signals(_say)
            runner.run_every(
                spark,
                job,
                _say,
                interval_s=interval_s,
                stop=stop,
                rebuild=full,
                max_snapshots=max_snapshots,
            )
    finally:
        spark.stop()


def maintain_command(
    pipeline_file: Annotated[Path, typer.Argument(metavar="PIPELINE.yaml", help="The pipeline file.")],
    keep: Annotated[
        str, typer.Option(metavar="DURATION", help="Snapshots younger than this stay, for time travel.")
    ] = "7d",
    spark_settings: Annotated[
        list[str] | None,
        typer.Option("--spark", metavar="KEY=VALUE", help="More Spark configuration; repeatable."),
    ] = None,
) -> None:
    """Compact a pipeline's base table; expire old snapshots of both tables, but none that is needed."""
    try:
        keep_ms = parse_interval(keep)
    except ValueError as e:
        raise ConfigurationError(f"--keep: {e}") from None
    settings = _pairs(spark_settings or [])
    pipeline = load(pipeline_file)
    job = UpsertJob.from_pipeline(pipeline)

    from spark_upsert.maintenance import maintain
    from spark_upsert.runner import now_ms
    from spark_upsert.session import create_session

    spark = create_session(pipeline.catalog, settings)
    try:
        done = maintain(spark, job, keep_ms=keep_ms, now_ms=now_ms)
    finally:
        spark.stop()
    _say(
        f"{job.base}: {done.base_files_before} files rewritten into {done.base_files_after}, "
        f"{done.base_snapshots_expired} snapshots expired; {job.cdc}: {done.cdc_snapshots_expired} snapshots "
        "expired"
    )


def check_options(
    every: str | None, max_snapshots: int | None, full: bool, dry_run: bool, spark_settings: list[str]
) -> tuple[float | None, dict[str, str]]:
    """Returns the interval in seconds and the Spark settings. Raises ConfigurationError."""
    if full and max_snapshots is not None:
        raise ConfigurationError("--full publishes everything by one commit: leave out --max-snapshots")
    if dry_run and every is not None:
        raise ConfigurationError("--dry-run writes nothing, so once is enough: leave out --every")
    return (None if every is None else _seconds(every)), _pairs(spark_settings)


def _stop_on_signals(say: Callable[[str], None]) -> Event:
    """Set by the first SIGTERM or SIGINT; the second ends the process at once, which harms no table."""
    stop = Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        say("stopping after the run at work; once more ends it at once")

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
    return stop


def _say(line: str) -> None:
    print(line, flush=True)


def _seconds(every: str) -> float:
    try:
        interval_ms = parse_interval(every)
    except ValueError as e:
        raise ConfigurationError(f"--every: {e}") from None
    if interval_ms <= 0:
        raise ConfigurationError.of("--every", every, "a duration above zero, such as 5m")
    return interval_ms / 1000


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for key, separator, value in pairs:
        if not key or not separator:
            raise ConfigurationError.of("--spark", f"{key}{separator}{value}", "KEY=VALUE")
    return {key: value for key, _, value in pairs}
