"""The Iceberg tables as any plain reader sees them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from demo.view import HOUR, TableView
from finalization.catalog import open_catalog
from finalization.lateness import from_summary
from finalization.pipeline import Pipeline
from finalization.times import to_datetime
from finalization.watermark_property import read_watermark

EVENT_TIME = "_event_time"
UPSERTED_SNAPSHOT = "upsert.cdc-snapshot-id"

Row = dict[str, object]


class Lake:
    """Reads the tables of a pipeline; a table that is not there yet is None, or an empty view."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._catalog = open_catalog(pipeline.catalog)
        self.tables = pipeline.tables

    def table(self, name: str) -> Table | None:
        """Returns the table with its newest metadata."""
        try:
            return self._catalog.load_table(name)
        except NoSuchTableError:
            return None

    def view(self, name: str) -> TableView:
        table = self.table(name)
        if table is None:
            return TableView()
        late = late_by_hour(table.snapshots())
        return TableView(
            rows=row_count(table),
            commits=len(table.snapshots()),
            watermark=watermark(table),
            late=sum(late.values()),
            late_hours=frozenset(late),
        )


def watermark(table: Table) -> datetime | None:
    """Returns W, UTC."""
    value = read_watermark(table.properties)
    return None if value is None else to_datetime(value)


def row_count(table: Table) -> int:
    """Returns the rows of the current snapshot, from its summary alone."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        return 0
    return total(snapshot, "total-records") - total(snapshot, "total-position-deletes")


def total(snapshot: Snapshot, key: str) -> int:
    return int(summary_of(snapshot).get(key, "0"))


def summary_of(snapshot: Snapshot) -> dict[str, str]:
    return {} if snapshot.summary is None else dict(snapshot.summary.additional_properties)


def late_by_hour(snapshots: Iterable[Snapshot]) -> dict[datetime, int]:
    """Returns how many late rows the snapshots brought, by the beginning of the hour they belong to."""
    counts: dict[datetime, int] = {}
    for snapshot in snapshots:
        late = from_summary(summary_of(snapshot))
        if late is None or late.partitions is None:
            continue
        for index, count in late.partitions.counts.items():
            hour = to_datetime(late.partitions.granularity.start(index))
            counts[hour] = counts.get(hour, 0) + count
    return counts


def rows_of_hour(
    table: Table, hour: datetime, columns: Sequence[str], snapshot_id: int | None = None
) -> list[Row]:
    """Returns the rows of one hour of event time as of a snapshot, by default the current one.

    `hour` is the hour's beginning.
    """
    begin, end = hour.isoformat(), (hour + HOUR).isoformat()
    within = f"{EVENT_TIME} >= '{begin}' AND {EVENT_TIME} < '{end}'"
    return _rows(table.scan(within, selected_fields=tuple(columns), snapshot_id=snapshot_id))


def all_rows(table: Table, columns: Sequence[str]) -> list[Row]:
    """Returns all rows of the current snapshot."""
    return _rows(table.scan(selected_fields=tuple(columns)))


def _rows(scan: Any) -> list[Row]:
    rows: list[Row] = scan.to_arrow().to_pylist()
    return [{name: _in_utc(value) for name, value in row.items()} for row in rows]


def _in_utc(value: object) -> object:
    """An instant in the one form that compares and prints the same wherever it came from."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value
