"""What an upsert refuses or gives up on. Each text says what to do."""

from finalization.exceptions import FinalizationError
from finalization.times import format_instant


class UpsertError(FinalizationError):
    """The root of the upsert's errors. The base table is as it was before the run."""


class HistoryLostError(UpsertError):
    """The CDC table's history since the last run was expired or rewritten: only a rebuild reads it all."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}. Rebuild the base table: finalization upsert PIPELINE.yaml --full")


class SchemaRefusedError(UpsertError):
    """The CDC table's columns cannot flow into the base table without losing something."""


class ChangeRefusedError(UpsertError):
    """A change cannot be applied: no key, an unknown operation, or a TRUNCATE nobody allowed."""


class RivalPublishedError(UpsertError):
    """Another upsert of the same base table published first. Its work stands, this one's is dropped."""


class MainMovedError(UpsertError):
    """Someone else wrote into the base table each time before this run could publish."""


class MaintenanceError(UpsertError):
    """The base table is being compacted, which an upsert would only make fail."""

    def __init__(self, branch: str, until_ms: int) -> None:
        super().__init__(
            f"the base table is under maintenance, until {format_instant(until_ms)} at the latest. If its "
            "process is "
            f"gone, drop the branch {branch}"
        )
