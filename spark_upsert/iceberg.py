"""Iceberg's Java objects as this package uses them, over Spark's gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAIN = "main"

JavaTable = Any
JavaMetadata = Any


def quote(*names: str) -> str:
    """A name in Spark SQL: each dot separates, each part is quoted."""
    parts = [part for name in names for part in name.split(".")]
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def column(name: str) -> str:
    """One column in Spark SQL; a dot is part of its name."""
    return f"`{name.replace('`', '``')}`"


def literal(text: str) -> str:
    """A string in Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def catalog_of(spark: SparkSession, catalog: str) -> Any:
    """The Java catalog, set up as the session's settings say."""
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(spark._jsparkSession, catalog)


def identifier(spark: SparkSession, table: str) -> Any:
    """The Java name of `namespace.table`."""
    return spark._jvm.org.apache.iceberg.catalog.TableIdentifier.parse(table)


def load(spark: SparkSession, catalog: str, table: str) -> JavaTable:
    """The table with its newest metadata."""
    return catalog_of(spark, catalog).loadTable(identifier(spark, table))


def exists(spark: SparkSession, catalog: str, table: str) -> bool:
    """Whether the catalog has the table."""
    return bool(catalog_of(spark, catalog).tableExists(identifier(spark, table)))


def current_metadata(table: JavaTable) -> JavaMetadata:
    """The metadata the table was loaded with: one object, so everything in it belongs together."""
    return table.operations().current()


def java_iterator(iterable: Any) -> Iterator[Any]:
    """Python's iterator over a Java Iterable."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


def swap_metadata(
    spark: SparkSession, table: JavaTable, change: Callable[[JavaMetadata, Any], bool], attempts: int = 10
) -> bool:
    """Commits one change of metadata, against exactly the metadata it was computed from.

    `change(metadata, builder)` looks at the newest metadata and fills the builder; False means there is
    nothing to do. It is asked again, with newer metadata, each time someone else committed in between; what
    it raises ends everything, and so does a commit that failed for another reason.

    Plain `updateProperties`, `setCurrentSnapshot` and `replaceBranch` are no substitute: they apply a change
    that was computed from old metadata onto new metadata, and overwrite what came in between.
    """
    operations = table.operations()
    for attempt in range(attempts):
        metadata = operations.refresh()
        builder = spark._jvm.org.apache.iceberg.TableMetadata.buildFrom(metadata)
        if not change(metadata, builder):
            return False
        try:
            operations.commit(metadata, builder.build())
            return True
        except Exception as e:
            # An unknown state is asked again too: `change` then sees whether the commit took place.
            if attempt + 1 == attempts or not _was_refused(e):
                raise
    return False


def _was_refused(error: Exception) -> bool:
    cause = getattr(error, "java_exception", None)
    while cause is not None:
        name = cause.getClass().getSimpleName()
        if name in ("CommitFailedException", "CommitStateUnknownException"):
            return True
        cause = cause.getCause()
    return False
