"""Partitions that got records after they were final."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from finalization.exceptions import MalformedFactsError
from finalization.lateness import from_summary
from finalization.lineage import Snapshot
from finalization.times import format_instant


@dataclass(frozen=True)
class Reopened:
    """One partition; `start_ms` None stands for partitions too old to be told apart. Times in ms, UTC."""

    start_ms: int | None
    end_ms: int | None
    records: int
    commits: int
    last_commit_ms: int
    last_snapshot_id: int

    def to_json(self) -> dict[str, Any]:
        """As a dictionary with ISO-8601 instants."""
        return {
            "start": None if self.start_ms is None else format_instant(self.start_ms),
            "end": None if self.end_ms is None else format_instant(self.end_ms),
            "records": self.records,
            "commits": self.commits,
            "last_commit": format_instant(self.last_commit_ms),
            "last_snapshot_id": self.last_snapshot_id,
        }


def reopened_partitions(lineage: Iterable[Snapshot], since_ms: int | None = None) -> list[Reopened]:
    """Late records by partition, oldest first, over a lineage (newest first) from `since_ms` on."""
    found: dict[tuple[int | None, int | None], Reopened] = {}

    def add(start: int | None, end: int | None, records: int, snapshot: Snapshot) -> None:
        known = found.get((start, end))
        # The lineage comes newest first: what is there already is the last commit.
        found[start, end] = Reopened(
            start,
            end,
            records + (known.records if known else 0),
            1 + (known.commits if known else 0),
            known.last_commit_ms if known else snapshot.timestamp_ms,
            known.last_snapshot_id if known else snapshot.snapshot_id,
        )

    for snapshot in lineage:
        if since_ms is not None and snapshot.timestamp_ms < since_ms:
            continue
        try:
            late = from_summary(snapshot.summary)
        except MalformedFactsError:
            continue
        if late is None or late.partitions is None:
            continue
        start = late.partitions.granularity.start
        for index, records in late.partitions.counts.items():
            add(start(index), start(index + 1), records, snapshot)
        if late.partitions.older:
            add(None, None, late.partitions.older, snapshot)
    return sorted(found.values(), key=lambda row: (row.start_ms is not None, row.start_ms or 0))
