"""Tables with watermarks and late counts in a real SQL catalog, made by metadata commits only."""

import json
from itertools import count
from pathlib import Path

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.types import LongType, NestedField

from finalization.catalog import FinalizationClient, open_catalog
from finalization.catalog_config import CatalogConfig
from finalization.facts import PREFIX, Partitions
from finalization.lateness import Late, to_summary
from finalization.options import WATERMARK
from finalization.times import Granularity, parse_instant

CONNECTION = "ice"
FLIGHTS = "lake.flights"
SCHEMA = Schema(NestedField(1, "id", LongType()))
HOURLY = Granularity.parse("hour")


class SensorLake:
    """`connection` is the Airflow connection to it, in JSON."""

    def __init__(self, folder: Path) -> None:
        self.config = CatalogConfig(
            CONNECTION, "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse"
        )
        self.client = FinalizationClient(open_catalog(self.config))
        self.client.catalog.create_namespace("lake")
        # Airflow's environment has no pyarrow: said here, pyiceberg does not look for it each time.
        extra = {**self.config.pyiceberg_properties(), "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}
        self.connection = json.dumps({"conn_type": "iceberg", "extra": extra})
        self._ids = count(1)

    def create(self, table: str = FLIGHTS, watermark: str | None = None, **policy: str) -> Table:
        properties = {f"finalization.{key.replace('_', '-')}": text for key, text in policy.items()}
        if watermark is not None:
            properties[WATERMARK] = watermark
        return self.client.catalog.create_table(table, SCHEMA, properties=properties)

    def set_watermark(self, instant: str, table: str = FLIGHTS) -> None:
        self.client.set_properties(table, {WATERMARK: instant})

    def commit(self, summary: dict[str, str], table: str = FLIGHTS) -> int:
        """A snapshot without files; its summary is what counts. Returns its id."""
        loaded = self.client.catalog.load_table(table)
        head = loaded.current_snapshot()
        number = loaded.metadata.last_sequence_number + 1
        snapshot = Snapshot(
            snapshot_id=next(self._ids),
            parent_snapshot_id=head.snapshot_id if head else None,
            sequence_number=number,
            timestamp_ms=max(loaded.metadata.last_updated_ms, head.timestamp_ms if head else 0) + 1,
            manifest_list=f"{loaded.location()}/none.avro",
            summary=Summary(Operation.APPEND, **summary),
            schema_id=0,
        )
        point = SetSnapshotRefUpdate(
            ref_name="main", type=SnapshotRefType.BRANCH, snapshot_id=snapshot.snapshot_id
        )
        self.client.catalog.commit_table(loaded, (), (AddSnapshotUpdate(snapshot=snapshot), point))
        return snapshot.snapshot_id

    def commit_late(self, counts: dict[str, int], table: str = FLIGHTS, older: int = 0) -> int:
        """A commit with late records by hour, given by the hour's start."""
        indices = {HOURLY.index(parse_instant(start)): records for start, records in counts.items()}
        late = Late(sum(counts.values()) + older, Partitions(HOURLY, indices, older))
        return self.commit({**FACTS, **to_summary(late)}, table)


FACTS = {f"{PREFIX}count": "0", f"{PREFIX}nulls": "0", f"{PREFIX}rejected": "0"}
