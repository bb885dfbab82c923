"""The upsert against the best plain MERGE: seconds and bytes written, in turn, on the same tables.

python -m tests.benchmarks.upsert [--rows 5000000] [--changes 20000,200000,2000000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from finalization.catalog_config import CatalogConfig
from spark_upsert.job import CDC_UUID, CURSOR, HIGHEST_POSITION, UpsertJob
from spark_upsert.runner import now_ms
from spark_upsert.session import create_session
from spark_upsert.upsert import upsert

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "6g"
_COLUMNS = """
    id bigint, carrier string, flight int, origin string, dest string, tail string,
    delay double, distance int, scheduled timestamp
"""
_ROW = """
    {id} AS id, element_at(array('UA','B6','EV','DL'), 1 + cast({id} % 4 AS int)) AS carrier,
    cast({id} % 9000 AS int) AS flight, 'EWR' AS origin, 'LAX' AS dest, concat('N', {id} % 4000) AS tail,
    rand({seed}) * 100 AS delay, cast({id} % 3000 AS int) AS distance,
    timestamp_seconds(1356998400 + {id}) AS scheduled
"""
_MODES = ("merge-on-read", "copy-on-write")
_NAMES = "id carrier flight origin dest tail delay distance scheduled _position _event_time"
_PLAIN = _NAMES.split()


@dataclass(frozen=True)
class Measure:
    """One run's seconds and the bytes of the files it added."""

    seconds: float
    written: int


class Bench:
    """A base table of `rows` rows for each write mode, and a log with a batch of changes for each size."""

    def __init__(self, spark: SparkSession, rows: int) -> None:
        self.spark = spark
        self.rows = rows
        self._starts: dict[str, int] = {}
        spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.lake")
        for mode in _MODES:
            self._make_base(mode)

    def job(self, mode: str, changes: int) -> UpsertJob:
        return UpsertJob("ice", f"lake.cdc_{changes}", _base(mode), ("id",))

    def _make_base(self, mode: str) -> None:
        table = f"ice.{_base(mode)}"
        modes = ", ".join(f"'write.{kind}.mode' = '{mode}'" for kind in ("merge", "update", "delete"))
        self.spark.sql(
            f"CREATE TABLE {table} ({_COLUMNS.replace('id bigint', 'id bigint NOT NULL')}, _position string, "
            "_event_time timestamp) USING iceberg PARTITIONED BY (bucket(8, id)) TBLPROPERTIES "
            f"({modes}, 'write.merge.distribution-mode' = 'hash')"
        )
        self.spark.sql(
            f"INSERT INTO {table} SELECT {_ROW.format(id='id', seed=1)}, {_position('id')} AS _position, "
            f"timestamp_seconds(1356998400 + id) AS _event_time FROM range({self.rows})"
        )
        self._starts[mode] = self._head(_base(mode))

    def make_log(self, changes: int) -> None:
        """A log whose first snapshot the base tables hold, and one more of updates, inserts and deletes."""
        table = f"ice.lake.cdc_{changes}"
        self.spark.sql(
            f"CREATE TABLE {table} ({_COLUMNS}, _op string, _event_time timestamp, _position string, "
            "_offset bigint) USING iceberg TBLPROPERTIES ('finalization.watermark' = '2013-01-01T10:00:00Z', "
            "'write.metadata.metrics.column._position' = 'full')"
        )
        spread = self.rows * 11 // 10
        for first, count in ((0, 1), (1, changes)):
            self.spark.sql(
                f"INSERT INTO {table} SELECT {_ROW.format(id=f'pmod(hash(id), {spread})', seed=2)}, "
                "CASE WHEN id % 20 = 0 THEN 'd' ELSE 'u' END AS _op, "
                f"timestamp_seconds(1356998400 + id) AS _event_time, {_position(f'id + {self.rows}')} AS "
                f"_position, id AS _offset FROM range({first}, {first + count})"
            )

    def reset(self, mode: str, changes: int) -> None:
        """The base table as it was made, with the cursor before the batch."""
        job = self.job(mode, changes)
        base, cdc = f"ice.{job.base}", f"ice.{job.cdc}"
        self.spark.sql(f"CALL ice.system.rollback_to_snapshot('{job.base}', {self._starts[mode]})")
        first = self.spark.sql(f"SELECT snapshot_id FROM {cdc}.snapshots ORDER BY committed_at").collect()[0][
            0
        ]
        from spark_upsert.cdc_reader import table_uuid
        from spark_upsert.iceberg import load

        uuid = table_uuid(load(self.spark, "ice", job.cdc))
        self.spark.sql(
            f"ALTER TABLE {base} SET TBLPROPERTIES ('{CURSOR}' = '{first}', '{CDC_UUID}' = '{uuid}', "
            f"'{HIGHEST_POSITION}' = '{self.rows:020d}.0000000000')"
        )
        self.spark.sql(f"ALTER TABLE {base} UNSET TBLPROPERTIES IF EXISTS ('finalization.watermark')")

    def ours(self, mode: str, changes: int) -> Measure:
        """One upsert."""
        result: list[Any] = []
        measure = self._timed(
            mode, lambda: result.append(upsert(self.spark, self.job(mode, changes), now_ms=now_ms))
        )
        assert result[0].rows == changes
        return measure

    def plain(self, mode: str, changes: int) -> Measure:
        """The MERGE one would write by hand: same guard, straight into main, no cursor and no watermark."""
        job = self.job(mode, changes)
        ids = self.spark.sql(
            f"SELECT snapshot_id FROM ice.{job.cdc}.snapshots ORDER BY committed_at"
        ).collect()
        assigned = ", ".join(f"t.{name} = s.{name}" for name in _PLAIN)
        struct = ", ".join(name for name in ("_op", *_PLAIN) if name != "id")
        span = f"'start-snapshot-id' = '{ids[0][0]}', 'end-snapshot-id' = '{ids[1][0]}'"
        merge = (
            f"MERGE INTO ice.{job.base} t USING (SELECT id, r.* FROM (SELECT id, max_by(struct({struct}), "
            f"_position) AS r FROM ice.{job.cdc} WITH ({span}) GROUP BY id)) s ON t.id = s.id "
            "WHEN MATCHED AND s._position > t._position AND s._op = 'd' THEN DELETE "
            f"WHEN MATCHED AND s._position > t._position THEN UPDATE SET {assigned} "
            f"WHEN NOT MATCHED AND s._op <> 'd' THEN INSERT ({', '.join(_PLAIN)}) "
            f"VALUES ({', '.join(f's.{name}' for name in _PLAIN)})"
        )
        return self._timed(mode, lambda: self.spark.sql(merge))

    def _timed(self, mode: str, run: Callable[[], Any]) -> Measure:
        began = time.monotonic()
        run()
        seconds = time.monotonic() - began
        rows = self.spark.sql(
            f"SELECT summary['added-files-size'] FROM ice.{_base(mode)}.snapshots WHERE snapshot_id = "
            f"{self._head(_base(mode))}"
        ).collect()
        return Measure(seconds, int(rows[0][0]))

    def _head(self, table: str) -> int:
        query = f"SELECT snapshot_id FROM ice.{table}.refs WHERE name = 'main'"
        return int(self.spark.sql(query).collect()[0][0])


def _base(mode: str) -> str:
    return f"lake.base_{mode.replace('-', '_')}"


def _position(expression: str) -> str:
    return f"concat(lpad({expression}, 20, '0'), '.0000000000')"


def run(rows: int, sizes: list[int], rounds: int) -> str:
    """Measures everything; returns a table in Markdown."""
    lines = [
        f"Base table of {rows:,} rows in 8 buckets; Spark with 2 cores; median of {rounds} rounds, in turn.",
        "",
        "| changes | write mode | plain MERGE, s | upsert, s | plain MERGE, MB | upsert, MB |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        catalog = CatalogConfig("ice", "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")
        spark = create_session(catalog, {"spark.driver.memory": MEMORY})
        bench = Bench(spark, rows)
        for changes in sizes:
            bench.make_log(changes)
            for mode in _MODES:
                measures: dict[str, list[Measure]] = {"plain": [], "ours": []}
                for number in range(rounds + 1):
                    for name, measure in (("plain", bench.plain), ("ours", bench.ours)):
                        bench.reset(mode, changes)
                        measured = measure(mode, changes)
                        if number:  # the first round warms up
                            measures[name].append(measured)
                seconds = [median(m.seconds for m in measures[name]) for name in ("plain", "ours")]
                written = [median(m.written for m in measures[name]) / 1e6 for name in ("plain", "ours")]
                lines.append(
                    f"| {changes:,} | {mode} | {seconds[0]:.2f} | {seconds[1]:.2f} | {written[0]:.2f} | "
                    f"{written[1]:.2f} |"
                )
                print(lines[-1], flush=True)
        spark.stop()
    return "\n".join(lines)


def main() -> None:
    """Prints the table and writes it to `build/benchmarks/upsert.md`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--changes", default="20000,200000,2000000")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    table = run(arguments.rows, [int(size) for size in arguments.changes.split(",")], arguments.rounds)
    target = Path("build/benchmarks/upsert.md")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(table + "\n")
    print(table)


if __name__ == "__main__":
    main()
