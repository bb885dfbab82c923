"""Values that a row took along when its key changed, and that nobody sent.

PostgreSQL does not send a large value that an UPDATE left alone. If the UPDATE changes the key, Debezium
tells it as a delete of the old key and an insert of the new one, and the insert has a placeholder where the
value should be: it is to be found under the old key, and only there. An insert with a placeholder is always
such a case, and a rare one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_upsert.iceberg import column, literal, quote
from spark_upsert.job import EVENT_TIME, OFFSET, OP, POSITION, UNAVAILABLE, UpsertJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LSN_DIGITS = 20
"""A position begins with the lsn, which is the same for both halves of a key change."""
_MOST_MOVES = 20
"""A value that moved more often within one log's memory is taken as not to be found."""

Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Wanted:
    """The values of `toast` columns that a row had under `key` just before `position`."""

    key: Key
    position: str


@contextmanager
def changes(
    spark: SparkSession,
    job: UpsertJob,
    batch: str,
    end_id: int,
    columns: tuple[str, ...],
    toast: tuple[str, ...],
) -> Iterator[list[str]]:
    """A query of changes that add the moved values to the batch's inserts; none if nothing was found.

    It can be run until the context ends. Each has its insert's key and position and a lower offset, so it
    gives values where the insert has placeholders, and nothing else. What the log does not have stays a
    placeholder.
    """
    log = _Log(spark, job, end_id, toast)
    placeholders = " OR ".join(f"{column(name)} = {literal(UNAVAILABLE)}" for name in toast)
    inserts = spark.sql(f"SELECT * FROM ({batch}) WHERE {column(OP)} = 'c' AND ({placeholders})").collect()
    rows = []
    for insert, found in zip(inserts, log.resolve([log.wanted(row) for row in inserts]), strict=True):
        values = {
            name: found.get(name, UNAVAILABLE) if insert[name] == UNAVAILABLE else UNAVAILABLE
            for name in toast
        }
        if any(value != UNAVAILABLE for value in values.values()):
            rows.append((*(insert[name] for name in job.primary_key), insert[POSITION], *values.values()))
    if not rows:
        yield []
        return
    known = (*job.primary_key, POSITION, *toast)
    view = f"moved_values_{uuid.uuid4().hex[:8]}"
    _frame(spark, rows, spark.sql(batch), known).createOrReplaceTempView(view)
    selected = [column(name) if name in known else f"NULL AS {column(name)}" for name in columns]
    own = (
        f"'c' AS {column(OP)}",
        column(POSITION),
        f"NULL AS {column(EVENT_TIME)}",
        f"-1 AS {column(OFFSET)}",
    )
    try:
        yield [f"SELECT {', '.join((*selected, *own))} FROM {column(view)}"]
    finally:
        spark.catalog.dropTempView(view)


class _Log:
    """The CDC table up to a snapshot, asked for a few keys at a time."""

    def __init__(self, spark: SparkSession, job: UpsertJob, end_id: int, toast: tuple[str, ...]) -> None:
        self._spark = spark
        self._key = job.primary_key
        self._toast = toast
        wanted = ", ".join(column(name) for name in (*self._key, OP, POSITION, *toast))
        self._log = spark.sql(f"SELECT {wanted} FROM {quote(job.catalog, job.cdc)} VERSION AS OF {end_id}")

    def wanted(self, row: Any) -> _Wanted:
        return _Wanted(self._key_of(row), row[POSITION])

    def resolve(self, inserts: list[_Wanted]) -> list[dict[str, str | None]]:
        """For each insert the values that its row had before, under whatever keys it had."""
        found: list[dict[str, str | None]] = [{} for _ in inserts]
        open_inserts = dict(enumerate(inserts))
        for _ in range(_MOST_MOVES):
            origins = self._origins(open_inserts.values())
            lives = self._changes({origin.key for origin in origins.values()})
            following = {}
            for index, insert in open_inserts.items():
                origin = origins.get(insert)
                born = (
                    None if origin is None else self._collect(lives.get(origin.key, []), origin, found[index])
                )
                if born is not None:
                    following[index] = born
            open_inserts = following
            if not open_inserts:
                break
        return found

    def _collect(self, changes: list[Any], origin: _Wanted, found: dict[str, str | None]) -> _Wanted | None:
        """Takes what one life of a key tells, newest first; returns its insert if a value is older still."""
        for change in changes:
            if change[POSITION] >= origin.position:
                continue
            for name in self._toast:
                if name not in found and change[name] != UNAVAILABLE:
                    found[name] = change[name]
            if len(found) == len(self._toast) or change[OP] == "r":
                return None
            if change[OP] == "c":
                return self.wanted(change)
        return None

    def _origins(self, inserts: Iterable[_Wanted]) -> dict[_Wanted, _Wanted]:
        """The delete that is the other half of each insert: the last one before it with its lsn."""
        inserts = list(inserts)
        lsns = sorted({insert.position[:_LSN_DIGITS] for insert in inserts})
        position = column(POSITION)
        near = self._log.where(
            f"{column(OP)} = 'd' AND {position} >= {literal(lsns[0])} AND {position} < "
            f"{literal(lsns[-1] + '~')}"
        )
        names = self._spark.createDataFrame([(lsn,) for lsn in lsns], "lsn string")
        deletes = near.join(
            names, near[POSITION].substr(1, _LSN_DIGITS) == names["lsn"], "left_semi"
        ).collect()
        origins = {}
        for insert in inserts:
            halves = [
                self.wanted(delete)
                for delete in deletes
                if delete[POSITION][:_LSN_DIGITS] == insert.position[:_LSN_DIGITS]
                and delete[POSITION] <= insert.position
                and self._key_of(delete) != insert.key
            ]
            if halves:
                origins[insert] = max(halves, key=lambda half: half.position)
        return origins

    def _changes(self, keys: set[Key]) -> dict[Key, list[Any]]:
        """The changes of these keys that have an image, newest first."""
        if not keys:
            return {}
        wanted = _frame(self._spark, list(keys), self._log, self._key)
        rows = self._log.where(f"{column(OP)} <> 'd'").join(wanted, list(self._key), "left_semi").collect()
        lives: dict[Key, list[Any]] = {}
        for row in sorted(rows, key=lambda row: row[POSITION], reverse=True):
            lives.setdefault(self._key_of(row), []).append(row)
        return lives

    def _key_of(self, row: Any) -> Key:
        return tuple(row[name] for name in self._key)


def _frame(spark: SparkSession, rows: list[Any], like: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """Rows as a data frame whose columns have the types they have in another one."""
    from pyspark.sql.types import StructType

    return spark.createDataFrame(rows, StructType([like.schema[name] for name in names]))
