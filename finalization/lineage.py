"""Snapshots of a table as the algorithm sees them: no catalog library in sight."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

REPLACE = "replace"

_FILE_CHANGES = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One commit. `timestamp_ms` is UTC; `parent_id` is None only for the first snapshot of a table."""

    snapshot_id: int
    parent_id: int | None
    timestamp_ms: int
    operation: str
    summary: Mapping[str, str]

    @property
    def changes_data(self) -> bool:
        """False for compaction, and for commits whose own metrics say that no file came or went."""
        if self.operation == REPLACE:
            return False
        if "total-data-files" not in self.summary:  # no metrics: assume the worst
            return True
        return any(self.summary.get(key, "0") != "0" for key in _FILE_CHANGES)


def walk(snapshots: Mapping[int, Snapshot], head: int | None) -> Iterator[Snapshot]:
    """Newest first from `head` along parents, until the first snapshot or the first one that was expired."""
    while head is not None and (snapshot := snapshots.get(head)):
        yield snapshot
        head = snapshot.parent_id
