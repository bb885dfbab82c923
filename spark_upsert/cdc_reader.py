"""Which part of the CDC table one run reads: pinned once, proved to be complete by walking the lineage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spark_upsert.exceptions import HistoryLostError, SchemaRefusedError
from spark_upsert.iceberg import JavaMetadata, JavaTable, column, literal, quote
from spark_upsert.job import EVENT_TIME, OFFSET, OP, OWN_PREFIX, POSITION, WATERMARK, UpsertJob

_LOG_COLUMNS = (OP, POSITION, EVENT_TIME, OFFSET)
"""What is read of the CDC table's own columns. (Spark cannot read a `_partition`: the name is reserved.)"""


@dataclass(frozen=True)
class Batch:
    """Changes after snapshot `start_id` (None: from the beginning) up to and with `end_id`.

    `appends` are the Java snapshots that brought them, oldest first. `watermark` is that of the metadata
    everything was pinned in, None if there is none, or if `remaining` snapshots are left: it speaks for all
    of the table's rows, so it must not travel with a part of them.
    """

    start_id: int | None
    end_id: int
    end_schema_id: int | None
    appends: tuple[Any, ...]
    rows: int
    watermark: str | None
    remaining: int


def plan(
    metadata: JavaMetadata, cursor: int | None, rebuild: bool, max_snapshots: int | None
) -> Batch | None:
    """The next batch; None if the CDC table has no snapshot yet.

    Everything comes from the one metadata object. Spark's incremental read would pass over a delete or an
    overwrite in silence, so the chain from the newest snapshot to the cursor is walked here.

    Raises HistoryLostError if the chain does not reach the cursor or has more than appends and compactions.
    """
    head = metadata.currentSnapshot()
    if head is None:
        if cursor is not None and not rebuild:
            raise HistoryLostError(f"the CDC table is empty, but snapshot {cursor} of it was applied before")
        return None
    start = None if rebuild else cursor
    chain = _chain(metadata, head, start)
    if start is not None:
        _refuse_rewritten(chain)
    appends = [snapshot for snapshot in chain if snapshot.operation() == "append" and _added(snapshot)]
    end = head
    left: list[Any] = []
    if max_snapshots is not None and len(appends) > max_snapshots:
        appends, left = appends[:max_snapshots], appends[max_snapshots:]
        end = appends[-1]
    return Batch(
        start_id=start,
        end_id=end.snapshotId(),
        end_schema_id=end.schemaId(),
        appends=tuple(appends),
        rows=_total(end) if start is None else sum(_added(snapshot) for snapshot in appends),
        watermark=None if left else metadata.properties().get(WATERMARK),
        remaining=len(left),
    )


def _added(snapshot: Any) -> int:
    return int(snapshot.summary().get("added-records") or 0)


def _total(snapshot: Any) -> int:
    return int(snapshot.summary().get("total-records") or 0)


def _chain(metadata: JavaMetadata, head: Any, start: int | None) -> list[Any]:
    """Snapshots after `start` up to `head`, oldest first; without `start` all that are still known."""
    chain: list[Any] = []
    snapshot = head
    while snapshot is not None and snapshot.snapshotId() != start:
        chain.append(snapshot)
        parent = snapshot.parentId()
        snapshot = None if parent is None else metadata.snapshot(parent)
        if snapshot is None and start is not None:
            raise HistoryLostError(
                f"snapshot {start} of the CDC table, applied last, is not among the ancestors of its current "
                "snapshot "
                f"{head.snapshotId()}: it was expired, rolled back or the table was made anew"
            )
    return chain[::-1]


def _refuse_rewritten(chain: list[Any]) -> None:
    for snapshot in chain:
        if snapshot.operation() not in ("append", "replace"):
            raise HistoryLostError(
                f"snapshot {snapshot.snapshotId()} of the CDC table is of the kind '{snapshot.operation()}': "
                "its rows "
                "were deleted or overwritten, which a log of changes cannot say to the base table"
            )


def row_columns(metadata: JavaMetadata, job: UpsertJob) -> tuple[str, ...]:
    """The row's columns in the pinned schema, in its order.

    Raises SchemaRefusedError if a column of the CDC table itself or of the key is missing.
    """
    names = [field.name() for field in metadata.schema().columns()]
    needed = (*_LOG_COLUMNS, *job.primary_key)
    missing = [name for name in needed if name not in names]
    if missing:
        raise SchemaRefusedError(
            f"the CDC table {job.cdc} has no column {', '.join(missing)}; expected the columns of "
            "primary-key and "
            f"{', '.join(_LOG_COLUMNS)}. Let the ingestion job create the table"
        )
    return tuple(name for name in names if not name.startswith(OWN_PREFIX))


def batch_source(job: UpsertJob, metadata: JavaMetadata, batch: Batch, columns: tuple[str, ...]) -> str:
    """A query of the batch's changes."""
    table = quote(job.catalog, job.cdc)
    wanted = (*columns, *_LOG_COLUMNS)
    if batch.start_id is not None:
        # The range is read with the table's current schema, whatever columns its snapshots were written with.
        selected = ", ".join(column(name) for name in wanted)
        span = f"'start-snapshot-id' = '{batch.start_id}', 'end-snapshot-id' = '{batch.end_id}'"
        return f"SELECT {selected} FROM {table} WITH ({span})"
    schema = (
        metadata.schema() if batch.end_schema_id is None else metadata.schemasById().get(batch.end_schema_id)
    )
    known = {field.name() for field in schema.columns()}
    selected = ", ".join(column(name) if name in known else f"NULL AS {column(name)}" for name in wanted)
    return f"SELECT {selected} FROM {table} VERSION AS OF {batch.end_id}"


def earlier_deletes(job: UpsertJob, start_id: int, above: str, columns: tuple[str, ...]) -> str:
    """A query of the deletes applied before this batch that are newer than the batch's oldest change.

    A change that is emitted again after its row was deleted finds no row that would tell it that it is old.
    The log tells it: its delete joins the batch and wins by its position, and deletes nothing twice. The
    bound keeps this to the few data files whose positions reach into the batch's.
    """
    wanted = (*columns, *_LOG_COLUMNS)
    read = {*job.primary_key, *_LOG_COLUMNS}
    selected = ", ".join(column(name) if name in read else f"NULL AS {column(name)}" for name in wanted)
    return (
        f"SELECT {selected} FROM {quote(job.catalog, job.cdc)} VERSION AS OF {start_id} "
        f"WHERE {column(OP)} = 'd' AND {column(POSITION)} > {literal(above)}"
    )


def table_uuid(table: JavaTable) -> str:
    """Tells a table from another one that was made under its name."""
    return str(table.uuid().toString())
