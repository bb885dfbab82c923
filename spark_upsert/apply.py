"""Writes a batch of changes into a branch of the base table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_upsert.changes import UNKNOWN_OP, RowColumns, fold
from spark_upsert.exceptions import ChangeRefusedError
from spark_upsert.job import UpsertJob
from spark_upsert.merge import merge_statement, rows_query, truncate_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SUMMARY_PREFIX = "spark.sql.iceberg.snapshot-property."


@dataclass(frozen=True)
class Changes:
    """Queries of changes, all with the same columns. `toast` are those that hold Debezium's placeholder.

    Only changes after the position `newer_than` count, if there is one.
    """

    job: UpsertJob
    sources: Sequence[str]
    row_columns: tuple[str, ...]
    toast: frozenset[str]
    newer_than: str | None = None

    @property
    def soft(self) -> bool:
        return self.job.deletes == "soft"

    @property
    def columns(self) -> RowColumns:
        others = [name for name in self.row_columns if name not in self.job.primary_key]
        return RowColumns(
            key=self.job.primary_key,
            plain=tuple(name for name in others if name not in self.toast),
            toast=tuple(name for name in others if name in self.toast),
        )

    @property
    def folded(self) -> str:
        return fold(self.sources, self.columns, self.soft, self.newer_than)


def fill(spark: SparkSession, target: str, changes: Changes, replace: bool) -> None:
    """Writes the rows that the changes make of nothing. `replace` replaces all rows there are."""
    from pyspark.sql.functions import lit

    with _readable_refusals():
        writer = spark.sql(rows_query(changes.folded, changes.columns, changes.soft)).writeTo(target)
        if replace:
            writer.overwrite(lit(True))
        else:
            writer.append()


def merge(spark: SparkSession, target: str, changes: Changes, nullable_keys: frozenset[str]) -> None:
    """Merges the changes into the rows there are."""
    with _readable_refusals():
        spark.sql(merge_statement(target, changes.folded, changes.columns, changes.soft, nullable_keys))


def truncate(spark: SparkSession, target: str, job: UpsertJob, position: str) -> None:
    """Deletes, as the pipeline says, the rows that a TRUNCATE at this position found."""
    spark.sql(truncate_statement(target, position, job.deletes == "soft"))


@contextmanager
def summary_properties(spark: SparkSession, properties: Mapping[str, str]) -> Iterator[None]:
    """Adds to the summary of the snapshots that are written meanwhile."""
    try:
        for key, value in properties.items():
            spark.conf.set(_SUMMARY_PREFIX + key, value)
        yield
    finally:
        for key in properties:
            spark.conf.unset(_SUMMARY_PREFIX + key)


@contextmanager
def _readable_refusals() -> Iterator[None]:
    try:
        yield
    except Exception as e:
        text = str(e)
        start = text.find(UNKNOWN_OP)
        if start < 0:
            raise
        raise ChangeRefusedError(
            f"the CDC table has a change of {text[start:].splitlines()[0]}; expected one of c, u, r, d, or a "
            "TRUNCATE (t), which has no key. Let the ingestion job write the table"
        ) from None
