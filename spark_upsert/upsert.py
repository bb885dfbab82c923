"""One upsert: pin, read, merge on a branch, publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from finalization.exceptions import TableMissingError
from finalization.times import parse_instant
from spark_upsert import apply, cdc_reader, file_facts, moved_values, publish, tables, truncates
from spark_upsert.apply import summary_properties
from spark_upsert.cdc_reader import Batch
from spark_upsert.exceptions import HistoryLostError, MainMovedError
from spark_upsert.file_facts import FileFacts
from spark_upsert.iceberg import JavaMetadata, JavaTable, current_metadata, exists, load, quote
from spark_upsert.job import (
    CDC_TABLE,
    CDC_UUID,
    CURSOR,
    HIGHEST_POSITION,
    TRUNCATED,
    WATERMARK,
    UpsertJob,
    UpsertResult,
)
from spark_upsert.truncates import Truncation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Step = Literal["opened", "claimed", "merged", "published"]
ATTEMPTS = 5


@dataclass(frozen=True)
class _Work:
    """One attempt: everything it knows once it is planned."""

    job: UpsertJob
    cdc: JavaTable
    metadata: JavaMetadata
    columns: tuple[str, ...]
    base: JavaTable
    properties: Mapping[str, str]
    batch: Batch
    rebuild: bool

    @property
    def cursor(self) -> str | None:
        return self.properties.get(CURSOR)

    @property
    def uuid(self) -> str:
        return cdc_reader.table_uuid(self.cdc)

    @property
    def applied_truncate(self) -> str | None:
        """The mark of the newest TRUNCATE; that of another CDC table says nothing about this one."""
        return self.properties.get(TRUNCATED) if self.properties.get(CDC_UUID) == self.uuid else None

    def watermark(self, old: str | None) -> str | None:
        """What the base table's watermark becomes. It never goes back, except where a rebuild begins anew."""
        new = self.batch.watermark
        if self.rebuild:
            return new
        if old is None or new is None:
            return new or old
        return max(old, new, key=parse_instant)


def upsert(
    spark: SparkSession,
    job: UpsertJob,
    *,
    now_ms: Callable[[], int],
    rebuild: bool = False,
    max_snapshots: int | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> UpsertResult:
    """Brings the base table up to the CDC table's current snapshot, or `max_snapshots` appends nearer to it.

    Data, watermark and cursor become visible together, by one commit of metadata. If anything fails before
    it, the base table is untouched; a rerun applies the same changes once. `on_step` is called after each
    step.

    Raises:
        TableMissingError: there is no CDC table.
        HistoryLostError: only `rebuild` reads everything: it replaces all rows of the base table, in one
            commit.
        SchemaRefusedError, ChangeRefusedError: see there.
        RivalPublishedError: another upsert was faster.
        MainMovedError: others wrote into the base table during each of the attempts.
    """
    for attempt in range(1, ATTEMPTS + 1):
        work = _open(spark, job, rebuild, max_snapshots)
        on_step("opened")
        if work is None:
            return UpsertResult("nothing-new", None, 0, 0, None, None)
        try:
            return replace(_run(spark, work, now_ms, on_step), attempts=attempt)
        except publish.MainMoved:
            continue
    raise MainMovedError(
        f"others wrote into {job.base} while each of {ATTEMPTS} attempts was at work; nothing was changed. "
        "Run the "
        "upsert again, with fewer changes at a time (--max-snapshots) or while less is written"
    )


def preview(
    spark: SparkSession, job: UpsertJob, *, rebuild: bool = False, max_snapshots: int | None = None
) -> UpsertResult:
    """What `upsert` would do, without writing anything. Raises what it would raise at its start."""
    cdc = _load_cdc(spark, job)
    metadata = current_metadata(cdc)
    columns = cdc_reader.row_columns(metadata, job)
    properties: Mapping[str, str] = {}
    if exists(spark, job.catalog, job.base):
        base = load(spark, job.catalog, job.base)
        tables.schema_changes(spark, base, job, metadata, columns)
        properties = dict(current_metadata(base).properties())
    _refuse_other_table(properties, cdc, job, rebuild)
    batch = cdc_reader.plan(metadata, _cursor(properties), rebuild, max_snapshots)
    before = properties.get(WATERMARK)
    if batch is None:
        return UpsertResult("nothing-new", None, 0, 0, before, before)
    after = batch.watermark or before
    return UpsertResult(
        "planned", batch.end_id, len(batch.appends), batch.rows, before, after, batch.remaining
    )


def _open(spark: SparkSession, job: UpsertJob, rebuild: bool, max_snapshots: int | None) -> _Work | None:
    cdc = _load_cdc(spark, job)
    metadata = current_metadata(cdc)
    columns = cdc_reader.row_columns(metadata, job)
    base = tables.open_base(spark, job, metadata, columns)
    properties = dict(current_metadata(base).properties())
    _refuse_other_table(properties, cdc, job, rebuild)
    batch = cdc_reader.plan(metadata, _cursor(properties), rebuild, max_snapshots)
    if batch is None:
        return None
    return _Work(job, cdc, metadata, columns, base, properties, batch, rebuild)


def _run(
    spark: SparkSession, work: _Work, now_ms: Callable[[], int], on_step: Callable[[Step], None]
) -> UpsertResult:
    job, batch = work.job, work.batch
    before = work.properties.get(WATERMARK)

    def result(outcome: Literal["published", "properties-only", "nothing-new"]) -> UpsertResult:
        return UpsertResult(
            outcome,
            batch.end_id,
            len(batch.appends),
            batch.rows,
            before,
            work.watermark(before),
            batch.remaining,
        )

    if not batch.rows and not work.rebuild:
        changed = publish.publish_properties(
            spark, work.base, work.cursor, lambda metadata: _marks(work, metadata)
        )
        on_step("published")
        return result("properties-only" if changed else "nothing-new")

    source = cdc_reader.batch_source(job, work.metadata, batch, work.columns)
    nullable = tables.nullable_keys(work.base, job)
    others = tuple(name for name in work.columns if name not in job.primary_key)
    # A first run reads a snapshot's whole state, of which the appends still known may be a part.
    appends = None if batch.start_id is None else batch.appends
    facts = file_facts.read(spark, work.cdc, appends, source, others, job.primary_key, nullable)
    truncation = truncates.plan(job, facts.truncated, work.applied_truncate, work.rebuild)
    marks = {HIGHEST_POSITION: _highest(work, facts), TRUNCATED: truncation.position}
    with _sources(spark, work, source, facts) as sources:
        changes = apply.Changes(
            job, sources, work.columns, facts.toast, truncation.cut(facts.lowest_position)
        )
        claimed = publish.claim(spark, work.base, work.cursor, now_ms())
        try:
            on_step("claimed")
            _write(
                spark, work, f"{quote(job.catalog, job.base)}.`branch_{claimed.branch}`", changes, truncation
            )
            on_step("merged")
            publish.publish(spark, work.base, claimed, lambda metadata: {**_marks(work, metadata), **marks})
        except Exception:
            with suppress(Exception):  # the lease takes care of it
                publish.abandon(spark, work.base, claimed.branch)
            raise
    on_step("published")
    return result("published")


def _write(
    spark: SparkSession, work: _Work, target: str, changes: apply.Changes, truncation: Truncation
) -> None:
    fills = work.rebuild or (work.batch.start_id is None and tables.is_empty(work.base))
    if truncation.new and not fills:
        apply.truncate(spark, target, work.job, truncation.new)
    # Only the last snapshot holds what the summary says.
    with summary_properties(spark, _summary(work)):
        if fills:
            apply.fill(spark, target, changes, replace=work.rebuild)
        else:
            apply.merge(spark, target, changes, tables.nullable_keys(work.base, work.job))


@contextmanager
def _sources(spark: SparkSession, work: _Work, source: str, facts: FileFacts) -> Iterator[list[str]]:
    """Queries of the batch's changes, and of what from earlier ones they need."""
    job, batch = work.job, work.batch
    sources = [source]
    if batch.start_id is not None and job.deletes == "hard" and _reaches_back(work, facts):
        sources.append(cdc_reader.earlier_deletes(job, batch.start_id, facts.lowest_position, work.columns))
    if not facts.moved:
        yield sources
        return
    toast = tuple(name for name in work.columns if name in facts.toast)
    with moved_values.changes(spark, job, source, batch.end_id, work.columns, toast) as moved:
        yield [*sources, *moved]


def _reaches_back(work: _Work, facts: FileFacts) -> bool:
    """Whether the batch may hold a change that is older than one applied before: after a restart, mostly."""
    highest = work.properties.get(HIGHEST_POSITION)
    return highest is None or facts.lowest_position < highest


def _highest(work: _Work, facts: FileFacts) -> str | None:
    """The base table's new highest position; None if it is not known, which is always right, only slower."""
    if work.rebuild or work.cursor is None:
        return facts.highest_position
    old = work.properties.get(HIGHEST_POSITION)
    if old is None or facts.highest_position is None:
        return None
    return max(old, facts.highest_position)


def _marks(work: _Work, metadata: JavaMetadata) -> dict[str, str | None]:
    return {
        CURSOR: str(work.batch.end_id),
        CDC_TABLE: work.job.cdc,
        CDC_UUID: work.uuid,
        WATERMARK: work.watermark(metadata.properties().get(WATERMARK)),
    }


def _summary(work: _Work) -> dict[str, str]:
    watermark = work.watermark(work.properties.get(WATERMARK))
    return {CURSOR: str(work.batch.end_id), **({WATERMARK: watermark} if watermark else {})}


def _load_cdc(spark: SparkSession, job: UpsertJob) -> JavaTable:
    if not exists(spark, job.catalog, job.cdc):
        raise TableMissingError(job.cdc, "the ingestion job creates it: finalization run PIPELINE.yaml")
    return load(spark, job.catalog, job.cdc)


def _cursor(properties: Mapping[str, str]) -> int | None:
    cursor = properties.get(CURSOR)
    return None if cursor is None else int(cursor)


def _refuse_other_table(properties: Mapping[str, str], cdc: JavaTable, job: UpsertJob, rebuild: bool) -> None:
    known = properties.get(CDC_UUID)
    if known is not None and known != cdc_reader.table_uuid(cdc) and not rebuild:
        raise HistoryLostError(f"{job.base} was filled from another table than the {job.cdc} of today")
