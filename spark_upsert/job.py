"""What one upsert is asked to do, and what it did. Plain values; no Spark in sight."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from finalization import behind
from finalization.pipeline import Pipeline

Outcome = Literal["published", "properties-only", "nothing-new", "planned"]

WATERMARK = "finalization.watermark"
CURSOR, CDC_TABLE = behind.CURSOR, behind.CDC_TABLE
CDC_UUID = "upsert.cdc-table-uuid"
HIGHEST_POSITION = "upsert.highest-position"
"""Property of the base table: no change applied so far has a higher position (an upper bound, not a value
seen).
"""
TRUNCATED = "upsert.truncated-at"
"""Property of the base table: the position of the newest TRUNCATE applied; changes before it count no more.
"""

OP, POSITION, EVENT_TIME, OFFSET = "_op", "_position", "_event_time", "_offset"
OWN_PREFIX = "_"
"""Columns that begin so are the CDC table's own; all others are the row's (pipeline files see to it)."""
DELETED = "_is_deleted"
"""Boolean column of a base table with soft deletes. (`_deleted` is a name that Iceberg reserves.)"""
UNAVAILABLE = "__debezium_unavailable_value"
"""Debezium's text for an unchanged TOAST value that PostgreSQL did not send."""

FIRST_POSITION = ""


@dataclass(frozen=True)
class UpsertJob:
    """One pipeline's upsert. Table names are full names without the catalog's: `lake.flights`.

    `table_properties` are for a base table that the upsert creates.
    """

    catalog: str
    cdc: str
    base: str
    primary_key: tuple[str, ...]
    deletes: Literal["hard", "soft"] = "hard"
    truncate: Literal["refuse", "apply"] = "refuse"
    table_properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_pipeline(cls, pipeline: Pipeline) -> "UpsertJob":
        return cls(
            catalog=pipeline.catalog.name,
            cdc=pipeline.tables.cdc,
            base=pipeline.tables.base,
            primary_key=tuple(pipeline.primary_key),
            deletes=pipeline.upsert.deletes,
            truncate=pipeline.upsert.truncate,
            table_properties=pipeline.upsert.table_properties,
        )


@dataclass(frozen=True)
class UpsertResult:
    """`rows` are changes read, duplicates included. Watermarks are ISO-8601 texts; `remaining` counts
    snapshots left.
    """

    outcome: Outcome
    cdc_snapshot_id: int | None
    snapshots: int
    rows: int
    watermark_before: str | None
    watermark: str | None
    remaining: int = 0
    attempts: int = 1
