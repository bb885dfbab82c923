"""A CDC table as the ingestion job makes it, and a base table beside it, for tests."""

from __future__ import annotations

import time
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import yaml
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import HourTransform
from pyiceberg.types import (
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from finalization.catalog_config import CatalogConfig
from spark_upsert.iceberg import column
from spark_upsert.job import UNAVAILABLE, UpsertJob, UpsertResult
from spark_upsert.upsert import upsert

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW_COLUMNS: dict[str, IcebergType] = {"id": LongType(), "name": StringType(), "n": IntegerType()}
LOG_COLUMNS: dict[str, IcebergType] = {
    "_op": StringType(),
    "_event_time": TimestamptzType(),
    "_source_ts": TimestamptzType(),
    "_position": StringType(),
    "_topic": StringType(),
    "_kafka_partition": IntegerType(),
    "_offset": LongType(),
    "_ingested_at": TimestamptzType(),
}
EVENT_TIME = datetime(2013, 1, 1, tzinfo=UTC)

__all__ = ["UNAVAILABLE", "CdcTable", "Change", "new_name", "now_ms", "pipeline_file", "position"]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def new_name() -> str:
    """A table's name that no other test uses."""
    return f"lake.t{uuid.uuid4().hex[:8]}"


def position(lsn: int, order: int = 0) -> str:
    return f"{lsn:020d}.{order:010d}"


@dataclass(frozen=True)
class Change:
    """One row of the log: `values` are the row's columns."""

    op: str
    lsn: int
    values: dict[str, Any]
    order: int = 0


def create_log_table(catalog: Catalog, name: str, row_columns: dict[str, IcebergType]) -> Table:
    names = {**row_columns, **LOG_COLUMNS}
    fields = [
        NestedField(i, column, kind, required=False) for i, (column, kind) in enumerate(names.items(), 1)
    ]
    hour_of = next(field.field_id for field in fields if field.name == "_event_time")
    return catalog.create_table(
        name,
        Schema(*fields),
        partition_spec=PartitionSpec(PartitionField(hour_of, 1000, HourTransform(), "_event_hour")),
        properties={"format-version": "2", "write.metadata.metrics.column._position": "full"},
    )


def pipeline_file(cdc: CdcTable, catalog: CatalogConfig, folder: Path) -> Path:
    """A pipeline file for the command line."""
    settings = asdict(catalog)
    pipeline = {
        "name": "t",
        "kafka": {"brokers": "127.0.0.1:9092", "topics": ["t"]},
        "columns": {"id": "BIGINT", "name": "STRING", "n": "INT"},
        "primary-key": ["id"],
        "event-time": {"column": "source.ts_ms"},
        "tables": {"cdc": cdc.job.cdc, "base": cdc.job.base},
        "catalog": {key: settings[key] for key in ("name", "type", "uri", "warehouse")},
        "checkpoint": {"directory": f"file://{folder}/checkpoints"},
    }
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(pipeline))
    return file


class CdcTable:
    """The log `<name>_cdc`, and what the upsert makes of it in `<name>`."""

    def __init__(
        self,
        spark: SparkSession,
        config: CatalogConfig,
        name: str,
        row_columns: dict[str, IcebergType] | None = None,
        **job: Any,
    ) -> None:
        self.spark = spark
        self.catalog = load_catalog(config.name, **config.pyiceberg_properties())
        self.job = UpsertJob(config.name, f"{name}_cdc", name, **{"primary_key": ("id",), **job})
        self.catalog.create_namespace_if_not_exists("lake")
        self.row_columns = row_columns or ROW_COLUMNS
        create_log_table(self.catalog, self.job.cdc, self.row_columns)
        self._offset = 0

    def commit(self, *changes: Change, watermark: str | None = None) -> int:
        """Appends one commit of changes, then perhaps a watermark; returns the snapshot's id."""
        table = self.catalog.load_table(self.job.cdc)
        records = pa.Table.from_pylist([self._record(c) for c in changes], table.schema().as_arrow())
        # Not by pyiceberg: its partition transforms need a package of their own.
        self.spark.createDataFrame(records).writeTo(f"{self.job.catalog}.{self.job.cdc}").append()
        if watermark is not None:
            self.set_watermark(watermark)
        snapshot = self.catalog.load_table(self.job.cdc).current_snapshot()
        assert snapshot is not None
        return snapshot.snapshot_id

    def changes(self, *changes: tuple[Any, ...], watermark: str | None = None) -> int:
        """As `commit`, of tuples (op, lsn, id, name, n)."""
        return self.commit(
            *(
                Change(op, lsn, dict(zip(self.row_columns, values, strict=False)))
                for op, lsn, *values in changes
            ),
            watermark=watermark,
        )

    def set_watermark(self, watermark: str) -> None:
        with self.catalog.load_table(self.job.cdc).transaction() as transaction:
            transaction.set_properties({"finalization.watermark": watermark})

    def log_watermark(self) -> str | None:
        return self.catalog.load_table(self.job.cdc).properties.get("finalization.watermark")

    def upsert(self, **options: Any) -> UpsertResult:
        return upsert(self.spark, self.job, now_ms=now_ms, **options)

    def base(self) -> Table:
        return self.catalog.load_table(self.job.base)

    def properties(self) -> dict[str, str]:
        return self.base().properties

    def rows(self) -> list[tuple[Any, ...]]:
        """The base table's rows, row columns only, sorted by the first; none that is marked as deleted."""
        names = ", ".join(column(name) for name in self.row_columns)
        kept = " WHERE NOT _is_deleted" if self.job.deletes == "soft" else ""
        rows = self.spark.sql(f"SELECT {names} FROM ice.{self.job.base}{kept}").collect()
        return sorted((tuple(row) for row in rows), key=lambda row: [(v is not None, v) for v in row])

    def sql(self, statement: str) -> list[Any]:
        """Runs Spark SQL; {base} and {cdc} are the tables."""
        return self.spark.sql(
            statement.format(base=f"ice.{self.job.base}", cdc=f"ice.{self.job.cdc}")
        ).collect()

    def _record(self, change: Change) -> dict[str, Any]:
        self._offset += 1
        return {
            **change.values,
            "_op": change.op,
            "_event_time": None if change.op in ("r", "t") else EVENT_TIME,
            "_source_ts": EVENT_TIME,
            "_position": position(change.lsn, change.order),
            "_topic": "demo.public.t",
            "_kafka_partition": 0,
            "_offset": self._offset,
            "_ingested_at": EVENT_TIME,
        }
