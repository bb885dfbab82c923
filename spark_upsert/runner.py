"""Runs upserts: one after the other until nothing is left, or again and again until told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import TYPE_CHECKING

from finalization.exceptions import FinalizationError, TableMissingError
from finalization.times import format_instant
from spark_upsert.exceptions import (
    ChangeRefusedError,
    HistoryLostError,
    MaintenanceError,
    SchemaRefusedError,
)
from spark_upsert.job import UpsertJob, UpsertResult
from spark_upsert.upsert import upsert

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]

FAILURES_IN_A_ROW = 5
"""A loop goes on after a failure that may pass, such as a catalog that does not answer, but not for ever."""

_LASTING = (HistoryLostError, SchemaRefusedError, ChangeRefusedError)
"""Errors that stay until a person acts."""


def now_ms() -> int:
    """The wall clock, epoch milliseconds."""
    return time.time_ns() // 1_000_000


def run_once(
    spark: SparkSession,
    job: UpsertJob,
    say: Say,
    *,
    rebuild: bool = False,
    max_snapshots: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[UpsertResult]:
    """Upserts until the CDC table's current snapshot is reached, with one line for each upsert.

    With `max_snapshots` that may take several, each of them complete in itself.
    """
    while True:
        began = time.monotonic()
        result = upsert(spark, job, now_ms=now_ms, rebuild=rebuild, max_snapshots=max_snapshots)
        say(f"{format_instant(now_ms())} {job.base}: {describe(result)} ({time.monotonic() - began:.1f} s)")
        yield result
        if not result.remaining or stopped():
            return


def run_every(
    spark: SparkSession,
    job: UpsertJob,
    say: Say,
    *,
    interval_s: float,
    stop: Event,
    rebuild: bool = False,
    max_snapshots: int | None = None,
) -> None:
    """Runs at the start of each interval until `stop` is set; a run at work is finished first.

    A CDC table that does not exist yet is waited for. Raises what a person must look at, and the last of
    FAILURES_IN_A_ROW other failures.
    """
    failures = 0
    waiting = False
    while not stop.is_set():
        began = time.monotonic()
        try:
            for _ in run_once(
                spark, job, say, rebuild=rebuild, max_snapshots=max_snapshots, stopped=stop.is_set
            ):
                failures, rebuild, waiting = 0, False, False
        except TableMissingError:
            if not waiting:
                say(f"{format_instant(now_ms())} {job.base}: waiting for the table {job.cdc}")
            waiting = True
        except MaintenanceError as e:
            say(f"{format_instant(now_ms())} {job.base}: waiting: {e}")
        except _LASTING:
            raise
        except Exception as e:
            failures += 1
            if failures == FAILURES_IN_A_ROW:
                raise
            say(f"{format_instant(now_ms())} {job.base}: failed, trying again: {_first_line(e)}")
        stop.wait(max(0.0, interval_s - (time.monotonic() - began)))


def describe(result: UpsertResult) -> str:
    """One line for people."""
    watermark = result.watermark or "not yet known"
    if result.watermark != result.watermark_before:
        watermark = f"{result.watermark_before or 'not yet known'} → {watermark}"
    match result.outcome:
        case "nothing-new":
            did = "nothing new"
        case "properties-only":
            did = "no new changes"
        case "planned":
            did = f"would read {result.rows:,} changes of {result.snapshots} snapshots"
        case "published":
            did = f"{result.rows:,} changes of {result.snapshots} snapshots"
    behind = f", {result.remaining} snapshots left" if result.remaining else ""
    again = f", attempt {result.attempts}" if result.attempts > 1 else ""
    return f"{did}{behind}{again}, watermark {watermark}"


def _first_line(error: Exception) -> str:
    text = str(error) if isinstance(error, FinalizationError) else f"{type(error).__name__}: {error}"
    return text.strip().splitlines()[0][:500]
