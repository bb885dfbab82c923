"""What is known of a batch before it is merged: from its data files' statistics, or else by a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_upsert.exceptions import ChangeRefusedError
from spark_upsert.iceberg import JavaTable, column, java_iterator, literal
from spark_upsert.job import FIRST_POSITION, OP, POSITION, UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_FILES = 300
"""Beyond this many data files a query over the changes is cheaper than reading their statistics one by one.
"""


@dataclass(frozen=True)
class FileFacts:
    """Positions are bounds, not values seen: statistics may be truncated.

    `toast` are the columns that hold Debezium's placeholder. `moved` says whether an insert does: only a row
    whose key was changed is inserted without all of its values. `truncated` is the position of the newest
    TRUNCATE; None if there is none.
    """

    lowest_position: str = FIRST_POSITION
    highest_position: str | None = None
    toast: frozenset[str] = frozenset()
    moved: bool = False
    truncated: str | None = None


@dataclass(frozen=True)
class _File:
    lower: Any
    upper: Any
    nulls: Any
    values: Any


class _Reader:
    def __init__(self, spark: SparkSession, table: JavaTable) -> None:
        self._conversions = spark._jvm.org.apache.iceberg.types.Conversions
        self._io = table.io()
        self._fields = {field.name(): field for field in table.schema().columns()}

    def files(self, snapshots: tuple[Any, ...]) -> list[_File]:
        return [
            _File(file.lowerBounds(), file.upperBounds(), file.nullValueCounts(), file.valueCounts())
            for snapshot in snapshots
            for file in java_iterator(snapshot.addedDataFiles(self._io))
        ]

    def bound(self, bounds: Any, name: str) -> str | None:
        field = self._fields[name]
        raw = None if bounds is None else bounds.get(field.fieldId())
        return None if raw is None else str(self._conversions.fromByteBuffer(field.type(), raw).toString())

    def has_nulls(self, file: _File, name: str) -> bool:
        """Also if the file does not say."""
        return self._count(file.nulls, name) != 0

    def only_nulls(self, file: _File, name: str) -> bool:
        values = self._count(file.values, name)
        return values is not None and values == self._count(file.nulls, name)

    def _count(self, counts: Any, name: str) -> int | None:
        count = None if counts is None else counts.get(self._fields[name].fieldId())
        return None if count is None else int(count)


def string_columns(table: JavaTable, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `names` that can hold Debezium's placeholder."""
    types = {field.name(): str(field.type().toString()) for field in table.schema().columns()}
    return tuple(name for name in names if types[name] == "string")


def read(
    spark: SparkSession,
    table: JavaTable,
    snapshots: tuple[Any, ...] | None,
    source: str,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    nullable: frozenset[str],
) -> FileFacts:
    """Facts of the changes that these CDC snapshots added, or of all that the query `source` reads.

    `columns` are asked for placeholders; of the `key` only `nullable` columns may have NULLs.

    Raises ChangeRefusedError if a change has no key.
    """
    strings = string_columns(table, columns)
    required = tuple(name for name in key if name not in nullable)
    if snapshots is None or _data_files(snapshots) > MOST_FILES:
        return _query(spark, source, strings, required)
    reader = _Reader(spark, table)
    files = reader.files(snapshots)
    # A TRUNCATE is the one change whose whole key is NULL; operations themselves have no telling statistics.
    incomplete = any(
        any(reader.has_nulls(file, name) for name in required)
        or all(reader.has_nulls(file, name) for name in key)
        for file in files
    )
    # Texts on both sides of the placeholder hide it from statistics.
    doubtful = [name for name in strings if any(_may_hold(reader, file, name) for file in files)]
    if incomplete or doubtful:
        return _query(spark, source, doubtful, required)
    return _positions(reader, files)


def _data_files(snapshots: tuple[Any, ...]) -> int:
    return sum(int(snapshot.summary().get("added-data-files") or 0) for snapshot in snapshots)


def _query(
    spark: SparkSession, source: str, strings: Sequence[str], required_key: tuple[str, ...]
) -> FileFacts:
    position, operation, placeholder = column(POSITION), column(OP), literal(UNAVAILABLE)
    missing = [f"count_if({column(name)} IS NULL AND NOT {operation} <=> 't')" for name in required_key]
    held = [f"{column(name)} <=> {placeholder}" for name in strings]
    row = spark.sql(
        f"SELECT min({position}), max({position}), bool_or({operation} = 'c' AND "
        f"({' OR '.join(held) or 'false'})), array({', '.join(missing)}), "
        f"array({', '.join(f'bool_or({test})' for test in held)}), "
        f"max({position}) FILTER (WHERE {operation} = 't') FROM ({source})"
    ).collect()[0]
    for name, changes in zip(required_key, row[3], strict=True):
        _refuse_missing_keys(name, changes)
    toast = frozenset(name for name, found in zip(strings, row[4], strict=True) if found)
    return FileFacts(row[0] or FIRST_POSITION, row[1], toast, bool(row[2]), row[5])


def _positions(reader: _Reader, files: list[_File]) -> FileFacts:
    lowest = [reader.bound(file.lower, POSITION) for file in files]
    highest = [reader.bound(file.upper, POSITION) for file in files]
    return FileFacts(
        lowest_position=min((bound or FIRST_POSITION for bound in lowest), default=FIRST_POSITION),
        highest_position=None
        if None in highest
        else max((bound for bound in highest if bound), default=None),
    )


def _refuse_missing_keys(name: str, changes: int) -> None:
    if changes:
        raise ChangeRefusedError(
            f"{changes} changes have no value in the key column '{name}'. Either primary-key names the wrong "
            "columns, or the base table's key must be nullable: create it with optional key columns"
        )


def _may_hold(reader: _Reader, file: _File, name: str) -> bool:
    lower, upper = reader.bound(file.lower, name), reader.bound(file.upper, name)
    if lower is None and upper is None:
        return not reader.only_nulls(file, name)
    return (lower is None or lower <= UNAVAILABLE) and (upper is None or upper >= UNAVAILABLE)
