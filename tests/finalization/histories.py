"""A table in memory: the catalog's promises (atomic metadata, compare-and-swap) without a catalog."""

from collections.abc import Mapping

from finalization.digest import of_values
from finalization.facts import PREFIX, Partitions
from finalization.lineage import Snapshot, walk
from finalization.times import Granularity, parse_instant

HOUR = 3_600_000
MINUTE = 60_000
START = parse_instant("2013-01-01T10:00:00Z")
HOURLY = Granularity.parse("hour")


def summary_of(
    values: list[int], nulls: int = 0, rejected: int = 0, source_watermark: int | None = None
) -> dict[str, str]:
    """The facts as the sink writes them."""
    return {
        PREFIX + key: text for key, text in accumulator_of(values, nulls, rejected, source_watermark).items()
    }


def accumulator_of(
    values: list[int],
    nulls: int = 0,
    rejected: int = 0,
    source_watermark: int | None = None,
    granularity: Granularity = HOURLY,
) -> dict[str, str]:
    facts = {"count": str(len(values)), "nulls": str(nulls), "rejected": str(rejected)}
    if source_watermark is not None:
        facts["source-watermark-ms"] = str(source_watermark)
    if values:
        counts: dict[int, int] = {}
        for value in values:
            index = granularity.index(value)
            counts[index] = counts.get(index, 0) + 1
        facts["min-ms"], facts["max-ms"] = str(min(values)), str(max(values))
        facts["digest"] = of_values(values).encode()
        facts["partitions"] = Partitions.of(granularity, counts).encode()
    return facts


def lineage_of(
    *summaries: dict[str, str] | None, operations: Mapping[int, str] | None = None
) -> list[Snapshot]:
    """Snapshots a minute apart, given oldest first, returned newest first; None is a commit without facts."""
    snapshots = [
        Snapshot(
            number,
            number - 1 if number > 1 else None,
            START + number * MINUTE,
            (operations or {}).get(number, "append"),
            summary if summary is not None else {"added-data-files": "1"},
        )
        for number, summary in enumerate(summaries, start=1)
    ]
    return snapshots[::-1]


class Table:
    """Metadata that only ever changes as a whole; `version` counts the changes."""

    def __init__(self, **properties: str) -> None:
        self.properties: dict[str, str] = {"finalization.event-time-column": "t"}
        self.properties |= {f"finalization.{key.replace('_', '-')}": text for key, text in properties.items()}
        self.snapshots: dict[int, Snapshot] = {}
        self.head: int | None = None
        self.version = 0
        self.next_id = 1

    def append(self, timestamp: int, operation: str, summary: dict[str, str]) -> Snapshot:
        snapshot = Snapshot(self.next_id, self.head, timestamp, operation, summary)
        self.snapshots = {**self.snapshots, snapshot.snapshot_id: snapshot}
        self.head = snapshot.snapshot_id
        self.next_id += 1
        self.version += 1
        return snapshot

    def expire(self, keep: int) -> None:
        kept = list(walk(self.snapshots, self.head))[:keep]
        self.snapshots = {snapshot.snapshot_id: snapshot for snapshot in kept}
        self.version += 1

    def rollback(self, steps: int) -> None:
        chain = list(walk(self.snapshots, self.head))
        if len(chain) > steps:
            self.head = chain[steps].snapshot_id
            self.version += 1

    @property
    def watermark(self) -> int | None:
        text = self.properties.get("finalization.watermark")
        return None if text is None else parse_instant(text)


class Context:
    """Implements `finalization.commit.CommitContext` over a `Table`."""

    table = "lake.flights_cdc"
    branch = "main"
    job_id = "job"

    def __init__(self, table: Table, accumulator: dict[str, str] | None, checkpoint_id: int = 1) -> None:
        self._table = table
        self.checkpoint_id = checkpoint_id
        self.accumulators = {} if accumulator is None else {"event-time": accumulator}
        self.snapshot_id: int | None = None
        self.written: dict[str, str] = {}
        self.interference = 0
        self.refresh()

    def refresh(self) -> None:
        self._version = self._table.version
        self.properties: dict[str, str] = dict(self._table.properties)
        self._snapshots, self._head = self._table.snapshots, self._table.head

    def lineage(self, limit: int) -> list[Snapshot]:
        return list(walk(self._snapshots, self._head))[:limit]

    def set_snapshot_property(self, key: str, value: str) -> None:
        self.written[key] = value

    def compare_and_set_properties(self, updates: Mapping[str, str]) -> bool:
        if self.interference:
            self.interference -= 1
            self._table.version += 1
        if self._version != self._table.version:
            return False
        self._table.properties = {**self._table.properties, **updates}
        self._table.version += 1
        self._version = self._table.version
        return True


def commit(
    table: Table, processor, values: list[int], timestamp: int, source_watermark: int | None = None
) -> Snapshot:
    """A checkpoint's whole commit: before, the snapshot, after."""
    accumulator = accumulator_of(values, source_watermark=source_watermark)
    context = Context(table, accumulator)
    processor.pre_commit(context)
    facts = {PREFIX + key: text for key, text in accumulator.items()}
    snapshot = table.append(timestamp, "append", {**facts, **context.written, "added-data-files": "1"})
    context.snapshot_id = snapshot.snapshot_id
    context.refresh()
    processor.post_commit(context)
    return snapshot
