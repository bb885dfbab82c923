"""What the waiting side keeps of a table: a few numbers, not its metadata."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from finalization.exceptions import ConfigurationError, MalformedFactsError
from finalization.facts import PREFIX
from finalization.lateness import Late
from finalization.lateness import from_summary as late_of
from finalization.lineage import Snapshot
from finalization.status import table_status
from finalization.table_state import TableState
from finalization.times import Granularity


@dataclass(frozen=True, slots=True)
class LatePartition:
    """Records that one commit brought into a partition that was final. ms since the epoch, UTC.

    `start_ms` is None for partitions so old that the commit's facts sum them up: all that ends by `end_ms`.
    """

    start_ms: int | None
    end_ms: int
    records: int


@dataclass(frozen=True, slots=True)
class LateCommit:
    """A snapshot with late records."""

    snapshot_id: int
    timestamp_ms: int
    partitions: tuple[LatePartition, ...]


@dataclass(frozen=True, slots=True)
class TableLook:
    """One look at a table; instants in ms since the epoch, UTC.

    `watermark_ms` is None where nothing is final yet; `reason` says why W stands where it stands.
    `granularity` is None where the table's policy cannot be read. `counts_late` tells whether its commits
    count late records at all. `late` runs over the snapshots that are still kept, oldest first.
    """

    table: str
    reason: str
    watermark_ms: int | None = None
    snapshot_id: int | None = None
    committed_ms: int | None = None
    granularity: Granularity | None = None
    counts_late: bool = False
    late: tuple[LateCommit, ...] = ()
    exists: bool = True


def look_at(state: TableState, branch: str) -> TableLook:
    """Raises ConfigurationError for a watermark that cannot be read."""
    lineage = list(state.lineage(branch))
    head = lineage[0] if lineage else None
    try:
        granularity = state.policy().granularity
    except ConfigurationError:
        granularity = None  # the reason says what is wrong
    return TableLook(
        state.table,
        table_status(state, now_ms=0, branch=branch).reason,  # the time is for the lag, which is not read
        state.watermark_ms(branch),
        head.snapshot_id if head else None,
        head.timestamp_ms if head else None,
        granularity,
        any(f"{PREFIX}count" in snapshot.summary for snapshot in lineage),
        tuple(_late_commits(reversed(lineage))),
    )


def missing(table: str, why: str) -> TableLook:
    """The look at a table that the catalog does not have."""
    return TableLook(table, why, exists=False)


def _late_commits(oldest_first: Iterable[Snapshot]) -> Iterator[LateCommit]:
    for snapshot in oldest_first:
        try:
            late = late_of(snapshot.summary)
        except MalformedFactsError:
            continue  # not written by the sink, which reads back what it writes
        if late and late.records:
            yield LateCommit(snapshot.snapshot_id, snapshot.timestamp_ms, tuple(_partitions(late)))


def _partitions(late: Late) -> Iterator[LatePartition]:
    if late.partitions is None:
        return
    granularity = late.partitions.granularity
    if late.partitions.older:
        oldest = min(late.partitions.counts, default=None)
        end = granularity.start(oldest) if oldest is not None else 0
        yield LatePartition(None, end, late.partitions.older)
    for index, records in sorted(late.partitions.counts.items()):
        yield LatePartition(granularity.start(index), granularity.start(index + 1), records)
