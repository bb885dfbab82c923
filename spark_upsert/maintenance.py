"""Compacts the base table and expires what neither readers nor the upsert nor finalization need."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finalization.exceptions import TableMissingError
from finalization.facts import PREFIX as FACTS_PREFIX
from finalization.policy import Policy
from finalization.times import to_datetime
from spark_upsert import leases
from spark_upsert.exceptions import MaintenanceError
from spark_upsert.iceberg import (
    JavaMetadata,
    JavaTable,
    column,
    current_metadata,
    exists,
    load,
    swap_metadata,
)
from spark_upsert.job import CURSOR, UpsertJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE_S = 60.0
_POLL_S = 0.5


@dataclass(frozen=True)
class MaintenanceResult:
    """Files rewritten into fewer, and snapshots expired, by table."""

    base_files_before: int
    base_files_after: int
    base_snapshots_expired: int
    cdc_snapshots_expired: int


def maintain(
    spark: SparkSession, job: UpsertJob, *, keep_ms: int, now_ms: Callable[[], int]
) -> MaintenanceResult:
    """Compacts the base table, then expires snapshots older than `keep_ms` of both tables.

    Upserts hold off during compaction; one that is at work is waited for, for a minute. After that the first
    to commit wins: the upsert starts over, or the compaction fails and changes nothing.

    Of the CDC table, which is not rewritten, the snapshots from the cursor on stay, and those the watermark
    is computed from. Files that no snapshot ever had are not looked for: `remove_orphan_files` is for them.

    Raises:
        TableMissingError: there is no base table yet.
        MaintenanceError: another maintenance is at work.
    """
    if not exists(spark, job.catalog, job.base):
        raise TableMissingError(job.base, "the first upsert creates it")
    base = load(spark, job.catalog, job.base)
    lease = _take_lease(spark, base, now_ms())
    try:
        _wait_for_upserts(base, now_ms)
        rewritten = _call(
            spark,
            job,
            f"rewrite_data_files(table => '{job.base}', "
            # A file with deletes is read with them each time: it is worth rewriting whatever its size.
            "options => map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true'))",
        )
    finally:
        _release(spark, base, lease)
    # Expiry disturbs nobody: branches at work hold their snapshots. The lease itself would hold one, too.
    oldest_ms = now_ms() - keep_ms
    return MaintenanceResult(
        base_files_before=int(rewritten["rewritten_data_files_count"]),
        base_files_after=int(rewritten["added_data_files_count"]),
        base_snapshots_expired=_expire(spark, job, job.base, oldest_ms),
        cdc_snapshots_expired=_expire_log(spark, job, base, oldest_ms),
    )


def oldest_needed_ms(metadata: JavaMetadata, cursor: int | None, lookback: int) -> int | None:
    """The time of the oldest CDC snapshot that must stay; None if all must.

    Needed are the cursor's snapshot and those after it, and the last `lookback` with facts.
    """
    snapshot = metadata.currentSnapshot()
    oldest: int | None = None
    facts, cursor_met = 0, cursor is None
    while snapshot is not None:
        oldest = int(snapshot.timestampMillis())
        facts += snapshot.summary().get(FACTS_PREFIX + "count") is not None
        cursor_met = cursor_met or snapshot.snapshotId() == cursor
        if cursor_met and facts >= lookback:
            return oldest
        parent = snapshot.parentId()
        snapshot = None if parent is None else metadata.snapshot(parent)
    # Without the cursor in the history nothing can be told; without enough facts the oldest is the limit.
    return oldest if cursor_met and cursor is not None else None


def _expire_log(spark: SparkSession, job: UpsertJob, base: JavaTable, oldest_ms: int) -> int:
    if not exists(spark, job.catalog, job.cdc):
        return 0
    metadata = current_metadata(load(spark, job.catalog, job.cdc))
    cursor = base.properties().get(CURSOR)
    lookback = Policy.from_properties(dict(metadata.properties())).lookback_commits
    needed_ms = oldest_needed_ms(metadata, None if cursor is None else int(cursor), lookback)
    return 0 if needed_ms is None else _expire(spark, job, job.cdc, min(oldest_ms, needed_ms))


def _expire(spark: SparkSession, job: UpsertJob, table: str, older_than_ms: int) -> int:
    before = _snapshots(spark, job, table)
    instant = to_datetime(older_than_ms).strftime("%Y-%m-%d %H:%M:%S.%f")
    _call(spark, job, f"expire_snapshots(table => '{table}', older_than => TIMESTAMP '{instant}')")
    return before - _snapshots(spark, job, table)


def _snapshots(spark: SparkSession, job: UpsertJob, table: str) -> int:
    return int(load(spark, job.catalog, table).operations().current().snapshots().size())


def _call(spark: SparkSession, job: UpsertJob, procedure: str) -> Any:
    return spark.sql(f"CALL {column(job.catalog)}.system.{procedure}").collect()[0]


def _take_lease(spark: SparkSession, base: JavaTable, now_ms: int) -> str:
    name = leases.new_name(leases.MAINTENANCE, now_ms)

    def change(metadata: JavaMetadata, builder: Any) -> bool:
        if metadata.currentSnapshot() is None or metadata.ref(name) is not None:
            return False
        for ref in leases.live(metadata, leases.MAINTENANCE, now_ms):
            raise MaintenanceError(ref, leases.lease_end(ref) or now_ms)
        leases.add(spark, metadata, builder, name, now_ms)
        return True

    swap_metadata(spark, base, change)
    return name


def _wait_for_upserts(base: JavaTable, now_ms: Callable[[], int]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while leases.live(base.operations().refresh(), leases.UPSERT, now_ms()) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _release(spark: SparkSession, base: JavaTable, lease: str) -> None:
    def change(metadata: JavaMetadata, builder: Any) -> bool:
        if metadata.ref(lease) is None:
            return False
        builder.removeRef(lease)
        return True

    swap_metadata(spark, base, change)
