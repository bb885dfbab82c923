"""One measured session: generated rows into Iceberg tables, by both sinks in turn, in one JVM.

The JVM is warm when measuring begins, so its start and its compiler are left out. Prints one JSON object for
each run.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING

import psutil

from finalization.catalog_config import CatalogConfig
from flink_jobs.environment import create_environment

if TYPE_CHECKING:
    from pyflink.table import TableEnvironment

STANDARD = "standard"
OFF = "ours, off"
EVENT_TIME = "event-time"
PROCESSOR = "event-time and one more Python processor"
VARIANTS = (STANDARD, OFF, EVENT_TIME, PROCESSOR)

NARROW = "narrow"
WIDE = "wide"

_EVENT_TIME_OPTIONS = {"finalization.event-time-column": "ts"}
_OPTIONS = {
    STANDARD: {},
    OFF: {},
    EVENT_TIME: _EVENT_TIME_OPTIONS,
    PROCESSOR: {
        **_EVENT_TIME_OPTIONS,
        "sink.commit-processors": "python:tests.benchmarks.counting:CountingProcessor",
    },
}
_WARM_UP_ROWS = 2_000_000

# Random times over two hours: the hardest case for a digest, as no two neighbours are alike.
_TIME = "CAST(TO_TIMESTAMP_LTZ(1700000000000 + id, 3) AS TIMESTAMP(6))"


class Session:
    """A table environment with a source of generated rows and one catalog for each of the two sinks."""

    def __init__(self, width: str, parallelism: int, folder: str) -> None:
        self._environment = _environment(parallelism)
        self._width = width
        self._folder = folder
        for name, kind in (("std", "iceberg"), ("ext", "iceberg-extensible")):
            self._create_catalog(name, kind)
        self._jvm = next(child for child in psutil.Process().children() if child.name() == "java")

    def _create_catalog(self, name: str, kind: str) -> None:
        uri, warehouse = f"sqlite:///{self._folder}/{name}.db", f"file://{self._folder}/{name}"
        options = {"type": kind, **CatalogConfig(name, "sql", uri, warehouse).flink_properties()}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        self._environment.execute_sql(f"CREATE CATALOG {name} WITH ({listed})")
        self._environment.execute_sql(f"CREATE DATABASE {name}.lake")

    def run(self, variant: str, rows: int, table: str) -> dict[str, float]:
        """CPU seconds of the JVM and of its Python workers, and wall seconds, from submission to the end."""
        name = f"{'std' if variant == STANDARD else 'ext'}.lake.{table}"
        columns = _columns(self._width)
        options = {"format-version": "2", **_OPTIONS[variant]}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        self._environment.execute_sql(f"CREATE TABLE {name} ({columns}, ts TIMESTAMP(6)) WITH ({listed})")
        self._environment.execute_sql("DROP TEMPORARY TABLE IF EXISTS src")
        self._environment.execute_sql(
            f"CREATE TEMPORARY TABLE src ({columns}, ts AS {_TIME}) WITH ('connector' = 'datagen', "
            f"'number-of-rows' = '{rows}', 'rows-per-second' = '100000000', "
            f"'fields.id.min' = '1', 'fields.id.max' = '7200000', {_lengths(self._width)})"
        )
        _collect_garbage()
        workers = _Workers(self._jvm)
        before, started = _cpu_s(self._jvm), time.monotonic()
        self._environment.execute_sql(f"INSERT INTO {name} SELECT * FROM src").wait()
        wall_s, cpu_s = time.monotonic() - started, _cpu_s(self._jvm) - before
        return {"cpu_s": cpu_s, "wall_s": wall_s, "python_cpu_s": workers.stop()}


def _environment(parallelism: int) -> TableEnvironment:
    return create_environment(
        {
            "parallelism.default": str(parallelism),
            "execution.checkpointing.interval": "3 s",
            "rest.bind-address": "127.0.0.1",
            "table.exec.iceberg.use-v2-sink": "true",
        }
    )


def _columns(width: str) -> str:
    columns = ["id BIGINT", "v STRING"]
    if width == WIDE:
        columns += [f"n{i} BIGINT" for i in range(10)] + [f"d{i} DOUBLE" for i in range(8)]
        columns += [f"s{i} STRING" for i in range(10)]
    return ", ".join(columns)


def _lengths(width: str) -> str:
    names = ["v"] + ([f"s{i}" for i in range(10)] if width == WIDE else [])
    return ", ".join(f"'fields.{name}.length' = '10'" for name in names)


def _collect_garbage() -> None:
    from pyflink.java_gateway import get_gateway

    get_gateway().jvm.System.gc()


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


def main(width: str, parallelism: int, rows: int, rounds: int, folder: str) -> None:
    session = Session(width, parallelism, folder)
    for number, variant in enumerate(VARIANTS):
        session.run(variant, min(rows, _WARM_UP_ROWS), f"warm{number}")
    for number in range(rounds):
        order = list(enumerate(VARIANTS))
        for index, variant in order if number % 2 == 0 else reversed(order):
            measured = session.run(variant, rows, f"t{number}_{index}")
            print(json.dumps({"round": number, "variant": variant, **measured}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
