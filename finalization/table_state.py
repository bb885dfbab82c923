"""A table as read from its catalog at one moment: what status, history and backtest work on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from finalization.lineage import Snapshot, walk
from finalization.policy import Policy
from finalization.watermark_property import read_watermark

MAIN = "main"


@dataclass(frozen=True)
class TableState:
    """`heads` maps branches to their newest snapshot; `columns` maps dotted paths to Iceberg type names."""

    table: str
    properties: Mapping[str, str]
    snapshots: Mapping[int, Snapshot] = field(default_factory=dict)
    heads: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def lineage(self, branch: str = MAIN) -> Iterator[Snapshot]:
        """Newest first; nothing for a branch without snapshots."""
        return walk(self.snapshots, self.heads.get(branch))

    def watermark_ms(self, branch: str = MAIN) -> int | None:
        """W, None if there is none yet. Raises ConfigurationError for one that cannot be read."""
        return read_watermark(self.properties, branch)

    def policy(self) -> Policy:
        """Raises ConfigurationError."""
        return Policy.from_properties(self.properties)
