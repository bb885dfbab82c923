"""What a commit processor is given, and what it must offer. The sink's worker calls it."""

from collections.abc import Mapping
from typing import Protocol

from finalization.lineage import Snapshot


class CommitContext(Protocol):
    """One checkpoint's commit. Properties and lineage come from one pinned metadata object.

    The newest metadata is pinned before each call of the processor, and again by `refresh`.
    """

    @property
    def table(self) -> str:
        """The table's full name."""
        ...

    @property
    def branch(self) -> str: ...

    @property
    def job_id(self) -> str: ...

    @property
    def checkpoint_id(self) -> int: ...

    @property
    def accumulators(self) -> Mapping[str, Mapping[str, str]]:
        """Merged facts by accumulator: `{"event-time": {"count": "3", …}}`; empty on the start-up call."""
        ...

    @property
    def snapshot_id(self) -> int | None:
        """After the commit: the snapshot it made, None if it made none (an empty checkpoint)."""
        ...

    @property
    def properties(self) -> Mapping[str, str]: ...

    def lineage(self, limit: int) -> list[Snapshot]:
        """At most `limit` snapshots of the branch, newest first."""
        ...

    def set_snapshot_property(self, key: str, value: str) -> None:
        """Adds to the summary of the snapshot about to be committed. Before the commit only."""
        ...

    def compare_and_set_properties(self, updates: Mapping[str, str]) -> bool:
        """Commits table properties against exactly the pinned metadata; False: someone changed the table."""
        ...

    def refresh(self) -> None:
        """Pins the newest metadata."""
        ...


class CommitProcessor(Protocol):
    """Code that runs around each commit of the sink."""

    def pre_commit(self, ctx: CommitContext) -> None:
        """May add snapshot properties. Raising aborts: nothing is written, the job fails over and retries."""
        ...

    def post_commit(self, ctx: CommitContext) -> None:
        """Runs once the snapshot is durable, again after a restart, and once at start: must be idempotent."""
        ...
