"""A table's snapshots, one by one, as facts and as text."""

from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from finalization.exceptions import MalformedFactsError
from finalization.facts import from_summary as facts_of
from finalization.lateness import from_summary as late_of
from finalization.lineage import REPLACE, Snapshot
from finalization.table_state import MAIN, TableState
from finalization.times import format_instant


@dataclass(frozen=True)
class HistoryRow:
    """One snapshot; times in ms since the epoch, UTC. `note` says why it has no event times, if so."""

    snapshot_id: int
    committed_ms: int
    operation: str
    records: int = 0
    nulls: int = 0
    rejected: int = 0
    late_records: int = 0
    min_ms: int | None = None
    p5_ms: int | None = None
    p95_ms: int | None = None
    max_ms: int | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a dictionary with ISO-8601 instants."""
        values = asdict(self)
        for key in ("committed", "min", "p5", "p95", "max"):
            instant = values.pop(f"{key}_ms")
            values[key] = None if instant is None else format_instant(instant)
        return values


def history_of(state: TableState, limit: int, branch: str = MAIN) -> list[HistoryRow]:
    """The newest `limit` snapshots of a branch, oldest first."""
    return [_row(snapshot) for snapshot in islice(state.lineage(branch), limit)][::-1]


def _row(snapshot: Snapshot) -> HistoryRow:
    head = (snapshot.snapshot_id, snapshot.timestamp_ms, snapshot.operation)
    try:
        facts, late = facts_of(snapshot.summary), late_of(snapshot.summary)
        if facts is None:
            return HistoryRow(*head, note="compaction" if snapshot.operation == REPLACE else "no facts")
        counts = (facts.count, facts.nulls, facts.rejected, late.records if late else 0)
        if facts.count == 0:
            return HistoryRow(*head, *counts, note="empty")
        digest = facts.digest
        low, high = digest.percentile(5), digest.percentile(95)
        return HistoryRow(*head, *counts, facts.min_ms, low, high, facts.max_ms)
    except MalformedFactsError as e:
        return HistoryRow(*head, note=f"unreadable facts: {e}")
