"""How far a base table is behind the CDC table that it follows."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from finalization.lineage import Snapshot
from finalization.table_state import TableState
from finalization.times import format_duration

CURSOR = "upsert.cdc-snapshot-id"
"""Property of the base table: the newest CDC snapshot whose rows it holds, with all before it."""
CDC_TABLE = "upsert.cdc-table"
"""Property of the base table: the full name of the CDC table that it was last filled from."""


@dataclass(frozen=True)
class Behind:
    """`snapshots` of `table` brought rows that the base table does not have; the oldest of them waits for
    `waiting_ms`. `watermark_ms` is W of the CDC table minus W of the base table.

    None: not known, as the CDC table, its history since the cursor, or one of the watermarks is not there.
    """

    table: str
    snapshots: int | None = None
    waiting_ms: int | None = None
    watermark_ms: int | None = None

    def __str__(self) -> str:
        """In words: `follows lake.flights_cdc, 3 snapshots (2m) and 1h of watermark behind`."""
        if self.snapshots is None:
            return f"follows {self.table}, whose history since the last upsert cannot be read"
        parts = []
        if self.snapshots:
            number = "1 snapshot" if self.snapshots == 1 else f"{self.snapshots} snapshots"
            parts.append(f"{number} ({format_duration((self.waiting_ms or 0) // 1000 * 1000)})")
        if self.watermark_ms:
            parts.append(f"{format_duration(self.watermark_ms)} of watermark")
        return (
            f"follows {self.table}, {' and '.join(parts)} behind"
            if parts
            else f"follows {self.table}, up to date"
        )


def behind(base: TableState, cdc: TableState, now_ms: int) -> Behind:
    """Compares the main branches of two tables; the CDC table must have been read after the base table.

    Raises ConfigurationError for a watermark that cannot be read.
    """
    cdc_watermark, base_watermark = cdc.watermark_ms(), base.watermark_ms()
    difference = None
    if cdc_watermark is not None and base_watermark is not None:
        difference = max(0, cdc_watermark - base_watermark)
    left = _after(cdc.lineage(), base.properties.get(CURSOR))
    if left is None:
        return Behind(cdc.table, watermark_ms=difference)
    waiting = now_ms - left[-1].timestamp_ms if left else 0
    return Behind(cdc.table, len(left), max(0, waiting), difference)


def _after(lineage: Iterable[Snapshot], cursor: str | None) -> list[Snapshot] | None:
    """The snapshots that brought rows after the cursor, newest first; None if the cursor is not met."""
    snapshots = list(lineage)
    newer = list(takewhile(lambda snapshot: str(snapshot.snapshot_id) != cursor, snapshots))
    if len(newer) == len(snapshots):
        return None
    return [s for s in newer if s.operation == "append" and s.summary.get("added-records", "0") != "0"]
