"""The upsert against the best plain MERGE: seconds and bytes written, in turn, on the same tables.

python -m tests.benchmarks.upsert [--rows 5000000] [--changes 20000,200000,2000000] [--rounds 3]
    [--minutes 20]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil

from finalization.catalog_config import CatalogConfig
from spark_upsert.job import CDC_UUID, CURSOR, HIGHEST_POSITION, UpsertJob
from spark_upsert.runner import now_ms
from spark_upsert.session import create_session
from spark_upsert.upsert import upsert

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "6g"
_WARM_UP = 2
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
    """One run: seconds, CPU seconds of the JVM, bytes of the files it added, and what the rows are then.

    `around` are the seconds before and after the MERGE itself: pinning, branch, publication.
    """

    seconds: float
    cpu_s: float
    written: int
    rows: tuple[int, int]
    around: float = 0.0


class Bench:
    """A base table of `rows` rows for each write mode, and a log with a batch of changes for each size."""

    def __init__(self, spark: SparkSession, rows: int) -> None:
        self.spark = spark
        self.rows = rows
        self._starts: dict[str, int] = {}
        self._jvm = psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid())
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
        # What the run before wrote is gone: neither metadata nor disk use grow.
        self.spark.sql(
            f"CALL ice.system.expire_snapshots(table => '{job.base}', older_than => TIMESTAMP '2100-01-01 "
            "00:00:00', retain_last => 1)"
        )
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
        times: dict[str, float] = {}

        def run() -> None:
            began = time.monotonic()

            def on_step(step: str) -> None:
                times[step] = time.monotonic() - began

            result = upsert(self.spark, self.job(mode, changes), now_ms=now_ms, on_step=on_step)
            assert result.rows == changes

        measure = self._timed(mode, run)
        return replace(measure, around=times["claimed"] + times["published"] - times["merged"])

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
        cpu, began = self._cpu_s(), time.monotonic()
        run()
        seconds, cpu_s = time.monotonic() - began, self._cpu_s() - cpu
        head = self._head(_base(mode))
        summary = self.spark.sql(
            f"SELECT summary['added-files-size'] FROM ice.{_base(mode)}.snapshots WHERE snapshot_id = {head}"
        )
        rows = self.spark.sql(
            f"SELECT count(*), bit_xor(xxhash64({', '.join(_PLAIN)})) FROM ice.{_base(mode)}"
        ).collect()[0]
        return Measure(seconds, cpu_s, int(summary.collect()[0][0]), (rows[0], rows[1]))

    def _cpu_s(self) -> float:
        times = self._jvm.cpu_times()
        return times.user + times.system

    def _head(self, table: str) -> int:
        query = f"SELECT snapshot_id FROM ice.{table}.refs WHERE name = 'main'"
        return int(self.spark.sql(query).collect()[0][0])


def _base(mode: str) -> str:
    return f"lake.base_{mode.replace('-', '_')}"


def _position(expression: str) -> str:
    return f"concat(lpad({expression}, 20, '0'), '.0000000000')"


Pair = tuple[Measure, Measure]
"""One round: the plain MERGE and the upsert."""

_HEADER = """\
| changes | write mode | plain MERGE, s | upsert, s | difference, s | of it around the MERGE, s | allowed, s \
| plain, CPU s | upsert, CPU s | plain, MB | upsert, MB | rounds |
|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def run(rows: int, sizes: list[int], rounds: int, minutes: float) -> str:
    """Measures all cases in each round, as many rounds as fit in the time; returns a section in Markdown."""
    deadline = time.monotonic() + minutes * 60
    pairs: dict[tuple[str, int], list[Pair]] = {(mode, size): [] for size in sizes for mode in _MODES}
    with tempfile.TemporaryDirectory() as folder:
        catalog = CatalogConfig("ice", "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")
        spark = create_session(catalog, {"spark.driver.memory": MEMORY})
        bench = Bench(spark, rows)
        for size in sizes:
            bench.make_log(size)
        for number in range(_WARM_UP):
            for mode in _MODES:
                _round(bench, mode, sizes[0], number)
        for number in range(rounds):
            for case, done in pairs.items():
                if time.monotonic() < deadline:
                    done.append(_round(bench, *case, number))
                    print(*case, *done[-1], flush=True)
        spark.stop()
    lines = [_line(size, mode, done) for (mode, size), done in pairs.items()]
    return _introduction(rows) + "\n".join([_HEADER, *lines]) + "\n"


def _round(bench: Bench, mode: str, changes: int, number: int) -> Pair:
    """Runs both on the same tables; who begins alternates."""
    measures: dict[str, Measure] = {}
    for name in ("plain", "ours") if number % 2 == 0 else ("ours", "plain"):
        bench.reset(mode, changes)
        measures[name] = (bench.plain if name == "plain" else bench.ours)(mode, changes)
    assert measures["plain"].rows == measures["ours"].rows
    return measures["plain"], measures["ours"]


def _line(changes: int, mode: str, pairs: list[Pair]) -> str:
    if not pairs:
        return f"| {changes:,} | {mode} |{' – |' * 9} 0 |"

    def both(value: Callable[[Measure], float], digits: int = 2) -> list[str]:
        return [f"{median(value(pair[side]) for pair in pairs):.{digits}f}" for side in (0, 1)]

    plain = median(pair[0].seconds for pair in pairs)
    cells = [
        f"{changes:,}",
        mode,
        *both(lambda m: m.seconds),
        f"{median(ours.seconds - plain.seconds for plain, ours in pairs):.2f}",
        f"{median(ours.around for _, ours in pairs):.2f}",
        f"{max(0.5, 0.02 * plain):.2f}",
        *both(lambda m: m.cpu_s, 1),
        *both(lambda m: m.written / 1e6),
        str(len(pairs)),
    ]
    return f"| {' | '.join(cells)} |"


def _introduction(rows: int) -> str:
    return f"""\
## Upsert against the best plain MERGE

A base table of {rows:,} rows in 8 buckets; the
changes are spread over all of it: 86 % updates, 9 % inserts, 5 % deletes. The plain MERGE has the same guard
and the same one aggregate for each key, and writes straight into main: no cursor, no watermark, no branch, no
look at what it reads. Both leave the same rows (compared in each round). In turn, in alternating order;
medians; the difference is taken within each round. *Around the MERGE* is everything else that an upsert does:
pinning, walking the history, statistics, the branch, publication. *Allowed* is 2 % of the plain MERGE, or
half a second.

"""


def main() -> None:
    """Prints the section and writes it to `build/benchmarks/upsert.md`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--changes", default="20000,200000,2000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=20, help="no run begins after that time")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.changes.split(",")]
    section = run(arguments.rows, sizes, arguments.rounds, arguments.minutes)
    target = Path("build/benchmarks/upsert.md")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(section)
    print(section)


if __name__ == "__main__":
    main()
