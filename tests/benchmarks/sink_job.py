"""One measured job: generated rows into an Iceberg table, with the standard sink or with finalization."""

from __future__ import annotations

import json
import sys
import threading
import time

import psutil

from finalization.catalog_config import CatalogConfig
from flink_jobs.environment import create_environment

VARIANTS = ("standard", "finalization")


def main(variant: str, rows: int, parallelism: int, folder: str) -> None:
    environment = create_environment(
        {
            "parallelism.default": str(parallelism),
            "execution.checkpointing.interval": "3 s",
            "rest.bind-address": "127.0.0.1",
            "table.exec.iceberg.use-v2-sink": "true",
        }
    )
    config = CatalogConfig("ice", "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")
    options = {"type": "iceberg-extensible", **config.flink_properties()}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    environment.execute_sql(f"CREATE CATALOG ice WITH ({listed})")
    environment.execute_sql("CREATE DATABASE ice.lake")
    turned_on = ", 'finalization.event-time-column' = 'ts'" if variant == "finalization" else ""
    environment.execute_sql(
        "CREATE TABLE ice.lake.t (id BIGINT, v STRING, ts TIMESTAMP(6)) "
        f"WITH ('format-version' = '2'{turned_on})"
    )
    # Random times over two hours: the hardest case for a digest, as no two neighbours are alike.
    environment.execute_sql(
        "CREATE TEMPORARY TABLE src (id BIGINT, v STRING, ts AS "
        "CAST(TO_TIMESTAMP_LTZ(1700000000000 + id, 3) AS "
        f"TIMESTAMP(6))) WITH ('connector' = 'datagen', 'number-of-rows' = '{rows}', "
        "'rows-per-second' = '100000000', "
        "'fields.id.min' = '1', 'fields.id.max' = '7200000', 'fields.v.length' = '10')"
    )
    jvm = next(child for child in psutil.Process().children() if child.name() == "java")
    workers = _Workers(jvm)
    before, started = _cpu_s(jvm), time.monotonic()
    environment.execute_sql("INSERT INTO ice.lake.t SELECT id, v, ts FROM src").wait()
    wall_s, cpu_s = time.monotonic() - started, _cpu_s(jvm) - before
    print(json.dumps({"cpu_s": cpu_s, "wall_s": wall_s, "python_cpu_s": workers.stop()}))


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


class _Workers:
    """The CPU time of the JVM's Python workers, which end with the job and are looked at while they live."""

    def __init__(self, jvm: psutil.Process) -> None:
        self._jvm = jvm
        self._seen: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(0.2):
            for child in self._jvm.children():
                try:
                    self._seen[child.pid] = _cpu_s(child)
                except psutil.NoSuchProcess:
                    continue

    def stop(self) -> float:
        self._ended.set()
        self._thread.join()
        return sum(self._seen.values())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
