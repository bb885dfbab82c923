"""The base table: made on the first run, and widened when the CDC table's columns are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spark_upsert.exceptions import SchemaRefusedError
from spark_upsert.iceberg import (
    JavaMetadata,
    JavaTable,
    catalog_of,
    current_metadata,
    exists,
    identifier,
    load,
    quote,
)
from spark_upsert.job import DELETED, EVENT_TIME, POSITION, UpsertJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKETS = 8
"""Partitions of a new base table. Each batch touches most of them, so more would mean more and smaller files.
"""

_PROPERTIES = {
    "format-version": "2",
    # A batch is small against the table: deletes are written beside the data files, not data files anew.
    "write.merge.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.delete.mode": "merge-on-read",
    "write.merge.distribution-mode": "hash",
    # Each run makes a few metadata files, and each of them names all before it.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}
_UNBUCKETED = ("boolean", "float", "double")
_WIDER = {"int": ("long",), "float": ("double",)}


def open_base(spark: SparkSession, job: UpsertJob, cdc: JavaMetadata, columns: tuple[str, ...]) -> JavaTable:
    """Returns the base table with all of the CDC table's columns in it.

    Creates it if it is missing. New columns are added and widened types widened, in one commit of its schema.

    Raises SchemaRefusedError, and changes nothing, if a column was narrowed or changed its kind, or if the
    key is another one.
    """
    fields = {field.name(): field for field in cdc.schema().columns()}
    if not exists(spark, job.catalog, job.base):
        return _create(spark, job, [fields[name] for name in (*columns, POSITION, EVENT_TIME)])
    table = load(spark, job.catalog, job.base)
    changes = schema_changes(spark, table, job, cdc, columns)
    if changes:
        update = table.updateSchema()
        for name, kind in changes.items():
            known = table.schema().findField(name) is not None
            update = update.updateColumn(name, kind) if known else update.addColumn(name, kind)
        update.commit()
    return table


def schema_changes(
    spark: SparkSession, table: JavaTable, job: UpsertJob, cdc: JavaMetadata, columns: tuple[str, ...]
) -> dict[str, Any]:
    """Columns to add or widen in the base table, with their Java types. Raises SchemaRefusedError."""
    schema = table.schema()
    _refuse_other_key(schema, job)
    known = {field.name(): field.type() for field in schema.columns()}
    changes: dict[str, Any] = {}
    for field in cdc.schema().columns():
        name, kind = field.name(), field.type()
        if name not in (*columns, POSITION, EVENT_TIME):
            continue
        if name not in known:
            changes[name] = kind
        elif str(known[name].toString()) != str(kind.toString()):
            _refuse_unless_wider(name, known[name], kind)
            changes[name] = kind.asPrimitiveType()
    if job.deletes == "soft" and DELETED not in known:
        changes[DELETED] = spark._jvm.org.apache.iceberg.types.Types.BooleanType.get()
    return changes


def nullable_keys(table: JavaTable, job: UpsertJob) -> frozenset[str]:
    """Key columns that the base table lets be NULL."""
    return frozenset(
        field.name()
        for field in table.schema().columns()
        if field.name() in job.primary_key and field.isOptional()
    )


def is_empty(table: JavaTable) -> bool:
    """Whether the table certainly holds no row."""
    snapshot = current_metadata(table).currentSnapshot()
    return snapshot is None or snapshot.summary().get("total-records") == "0"


def _create(spark: SparkSession, job: UpsertJob, fields: list[Any]) -> JavaTable:
    jvm = spark._jvm
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quote(job.catalog, job.base.rpartition('.')[0])}")
    types = jvm.org.apache.iceberg.types.Types
    columns, key_ids = jvm.java.util.ArrayList(), jvm.java.util.HashSet()
    for field in fields:
        is_key = field.name() in job.primary_key
        if is_key:
            key_ids.add(field.fieldId())
        make = types.NestedField.required if is_key else types.NestedField.optional
        columns.add(make(field.fieldId(), field.name(), field.type()))
    if job.deletes == "soft":
        # The catalog numbers the fields anew; the number only has to be free.
        columns.add(types.NestedField.optional(100_000, DELETED, types.BooleanType.get()))
    schema = jvm.org.apache.iceberg.Schema(columns, key_ids)
    spec = jvm.org.apache.iceberg.PartitionSpec.builderFor(schema)
    for name, buckets in _buckets(job, {field.name(): str(field.type().toString()) for field in fields}):
        spec = spec.bucket(name, buckets)
    catalog, name = catalog_of(spark, job.catalog), identifier(spark, job.base)
    try:
        return catalog.createTable(
            name, schema, spec.build(), _java_map(spark, {**_PROPERTIES, **job.table_properties})
        )
    except Exception:
        # Two first runs at once: either one's table will do.
        if not catalog.tableExists(name):
            raise
        return catalog.loadTable(name)


def _buckets(job: UpsertJob, types: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The first two key columns share the buckets: which of them has many values is not known here."""
    columns = [name for name in job.primary_key if types[name] not in _UNBUCKETED][:2]
    for name in columns:
        yield name, BUCKETS if len(columns) == 1 else 4


def _java_map(spark: SparkSession, values: dict[str, str]) -> Any:
    result = spark._jvm.java.util.HashMap()
    for key, text in values.items():
        result.put(key, text)
    return result


def _refuse_other_key(schema: Any, job: UpsertJob) -> None:
    key = sorted(str(name) for name in schema.identifierFieldNames())
    if key and key != sorted(job.primary_key):
        raise SchemaRefusedError(
            f"the key of {job.base} is ({', '.join(key)}), but primary-key is "
            f"({', '.join(job.primary_key)}). Rows "
            "cannot be matched by another key: name a new table under tables.base and run the upsert, which "
            "fills it"
        )


def _refuse_unless_wider(name: str, known: Any, kind: Any) -> None:
    old, new = str(known.toString()), str(kind.toString())
    if new not in _WIDER.get(old, ()) and not _more_digits(known, kind):
        raise SchemaRefusedError(
            f"column '{name}' is {old} in the base table and {new} in the CDC table. Allowed are int → long, "
            "float → double and more digits of a decimal. Give the column its old type under columns, or a "
            "new name"
        )


def _more_digits(narrow: Any, wide: Any) -> bool:
    return (
        str(narrow.typeId().toString()) == str(wide.typeId().toString()) == "DECIMAL"
        and narrow.scale() == wide.scale()
        and narrow.precision() <= wide.precision()
    )
