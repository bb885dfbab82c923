"""The Iceberg tables that the CDC job writes: made and extended before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finalization.catalog import FinalizationClient
from finalization.exceptions import ConfigurationError
from finalization.policy_change import plan
from flink_jobs.types import iceberg_type

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from finalization.pipeline import Pipeline

# Flink SQL types of the columns that every CDC table has beside the row's own. (`_partition` alone is a name
# that Iceberg reserves: Spark then refuses to read the table.)
CDC_COLUMNS = {
    "_op": "STRING",
    "_event_time": "TIMESTAMP_LTZ(6)",
    "_source_ts": "TIMESTAMP_LTZ(6)",
    "_position": "STRING",
    "_topic": "STRING",
    "_kafka_partition": "INT",
    "_offset": "BIGINT",
    "_ingested_at": "TIMESTAMP_LTZ(6)",
}
DEAD_LETTER_COLUMNS = {
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "value": "BYTES",
    "reason": "STRING",
    "ingested_at": "TIMESTAMP_LTZ(6)",
}
PARTITION_FIELD = "_event_hour"
# Whole positions in the files' statistics: cut at 16 characters, as is usual, they tell the upsert little.
_POSITION_METRICS = {"write.metadata.metrics.column._position": "full"}


def ensure_tables(catalog: Catalog, pipeline: Pipeline) -> None:
    """Create the CDC and the dead-letter table where they are missing; add columns that the file names anew.

    The policy of the pipeline file is written into the CDC table's properties where the table has no value of
    its own: what `finalization policy apply` set there stays.

    Raises:
        ConfigurationError: if the CDC table has a column of another type than the file says.
    """
    catalog.create_namespace_if_not_exists(namespace_of(pipeline.tables.cdc))
    catalog.create_namespace_if_not_exists(namespace_of(pipeline.tables.dead_letters))
    schema = schema_of({**pipeline.columns, **CDC_COLUMNS})
    cdc = _create_cdc_table(catalog, pipeline, schema)
    _add_columns(cdc, schema)
    state = FinalizationClient(catalog).state(pipeline.tables.cdc)
    own = {k: v for k, v in pipeline.policy_properties().items() if k not in cdc.properties}
    # With what the policy needs beside its own keys: expiry must leave the commits that it looks back on.
    missing = dict(plan(state, own).updates)
    if missing:
        with cdc.transaction() as change:
            change.set_properties(missing)
    catalog.create_table_if_not_exists(
        pipeline.tables.dead_letters,
        schema=schema_of(DEAD_LETTER_COLUMNS),
        properties={"format-version": "2"},
    )


def namespace_of(table: str) -> str:
    """Return the namespace of a table named `namespace.table`."""
    return table.rpartition(".")[0]


def schema_of(columns: dict[str, str]) -> Schema:
    """Return an Iceberg schema of optional columns, in the given order, from Flink SQL types."""
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField

    return Schema(
        *(
            NestedField(field_id, name, iceberg_type(name, sql_type), required=False)
            for field_id, (name, sql_type) in enumerate(columns.items(), start=1)
        )
    )


def _create_cdc_table(catalog: Catalog, pipeline: Pipeline, schema: Schema) -> Table:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import HourTransform

    spec = PartitionSpec(
        PartitionField(
            source_id=schema.find_field("_event_time").field_id,
            field_id=1000,
            transform=HourTransform(),
            name=PARTITION_FIELD,
        )
    )
    return catalog.create_table_if_not_exists(
        pipeline.tables.cdc,
        schema=schema,
        partition_spec=spec,
        properties={"format-version": "2", **_POSITION_METRICS, **pipeline.policy_properties()},
    )


def _add_columns(table: Table, wanted: Schema) -> None:
    existing = {field.name: field.field_type for field in table.schema().fields}
    for field in wanted.fields:
        if field.name in existing and existing[field.name] != field.field_type:
            raise ConfigurationError(
                f"columns.{field.name} is {field.field_type}, but the table {'.'.join(table.name())} has it "
                f"as {existing[field.name]}; give it the table's type, or widen the table's column first"
            )
    added = [field for field in wanted.fields if field.name not in existing]
    if added:
        with table.update_schema() as change:
            for field in added:
                change.add_column(field.name, field.field_type)
