"""What waiting costs: 1,000 deferred sensors on 1,000 tables, and one look at a table with a long history.

Run in Airflow's environment: `.venv-airflow/bin/python -m tests.benchmarks.sensors`. The triggers run in one
event loop, as in a triggerer; what Airflow adds around them is not measured.
"""

import asyncio
import json
import logging
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

TABLES = 1000
SNAPSHOTS = 100
LONG_HISTORY = 5000
WAITERS_ON_ONE = 1000
INTERVAL_S = 30.0
ROUNDS = 3


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-sensors-") as folder:
        os.environ["AIRFLOW_HOME"] = folder
        os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "ERROR"
        from tests.sensors.lake import SensorLake

        logging.disable(logging.WARNING)
        lake = SensorLake(Path(folder))
        os.environ["AIRFLOW_CONN_ICE"] = lake.connection
        with timed(f"made {TABLES} tables of {SNAPSHOTS} snapshots"):
            fill(lake, [f"lake.t{number}" for number in range(TABLES)], SNAPSHOTS)
        fill(lake, ["lake.long"], LONG_HISTORY)
        long_history(lake)
        asyncio.run(many_tables(lake))
        asyncio.run(many_waiters())


def fill(lake, tables: list[str], snapshots: int) -> None:
    """Tables whose history has facts of an ordinary size: one is made by the catalog, all others after it."""
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import insert, select

    model = lake.create(f"lake.model{snapshots}", watermark="2013-01-01T09:00:00Z", event_time_column="id")
    metadata = json.loads(Path(urlsplit(model.metadata_location).path).read_text())
    metadata["snapshots"] = [
        {
            "snapshot-id": number,
            "parent-snapshot-id": number - 1 or None,
            "sequence-number": number,
            "timestamp-ms": metadata["last-updated-ms"] + number,
            "manifest-list": f"{model.location()}/none.avro",
            "summary": {"operation": "append", **summary()},
            "schema-id": 0,
        }
        for number in range(1, snapshots + 1)
    ]
    metadata["last-sequence-number"] = snapshots
    metadata["current-snapshot-id"] = snapshots
    metadata["refs"] = {"main": {"snapshot-id": snapshots, "type": "branch"}}
    text = json.dumps(metadata)
    rows = []
    with lake.client.catalog.engine.begin() as connection:
        columns = connection.execute(select(IcebergTables.__table__).limit(1)).mappings().one()
        for table in tables:
            name = table.partition(".")[2]
            path = Path(urlsplit(model.location()).path) / "metadata" / f"00000-{name}.metadata.json"
            path.write_text(text)
            rows.append({**columns, "table_name": name, "metadata_location": f"file://{path}"})
        connection.execute(insert(IcebergTables), rows)


@cache
def summary() -> dict[str, str]:
    from finalization.digest import of_values
    from finalization.facts import PREFIX, Partitions
    from finalization.times import Granularity, parse_instant

    start = parse_instant("2013-01-01T09:00Z")
    values = [start + n * 97_000 for n in range(100)]
    counts: dict[int, int] = {}
    hour = Granularity.parse("hour")
    for value in values:
        counts[hour.index(value)] = counts.get(hour.index(value), 0) + 1
    facts = {
        "count": "100",
        "nulls": "0",
        "rejected": "0",
        "min-ms": str(values[0]),
        "max-ms": str(values[-1]),
        "digest": of_values(values).encode(),
        "partitions": Partitions.of(hour, counts).encode(),
    }
    return {f"{PREFIX}{key}": text for key, text in facts.items()}


def long_history(lake) -> None:
    from airflow_provider_iceberg_finalization.lookup.reader import TableReader
    from finalization.catalog import FinalizationClient

    client = FinalizationClient.open(lake.config)
    with timed(f"loaded the metadata of {LONG_HISTORY} snapshots, nothing else"):
        client.catalog.load_table("lake.long")
    reader = TableReader(client)
    with timed("first look at it"):
        reader.look("lake.long", "main")
    with timed("second look, unchanged"):
        reader.look("lake.long", "main")


async def many_tables(lake) -> None:
    from airflow_provider_iceberg_finalization.triggers.finalization import FinalizationTrigger

    before = memory_mb()
    cpu = time.process_time()
    looks = count_looks()
    triggers = [
        FinalizationTrigger(
            tables=[f"lake.t{number}"],
            until="2013-01-01T10:00Z",
            iceberg_conn_id="ice",
            poke_interval=INTERVAL_S,
        )
        for number in range(TABLES)
    ]
    waits = [asyncio.create_task(anext(trigger.run())) for trigger in triggers]
    longest = 0.0
    for round_number in range(1, ROUNDS + 1):
        began = time.monotonic()
        while len(looks) < TABLES:
            await asyncio.sleep(0.05)
        took = time.monotonic() - began
        longest = max(longest, took)
        print(f"round {round_number}: {TABLES} tables looked at {took:.1f} s after the last round's end")
        looks.clear()
    print(f"memory grew by {memory_mb() - before:.0f} MB, CPU {time.process_time() - cpu:.1f} s")
    changed = "lake.t500"
    lake.set_watermark("2013-01-01T10:00:00Z", changed)
    began = time.monotonic()
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    print(
        f"one table's change released its trigger after {time.monotonic() - began:.1f} s of {INTERVAL_S:g} s"
    )
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)


async def many_waiters() -> None:
    from airflow_provider_iceberg_finalization.triggers.finalization import FinalizationTrigger

    looks = count_looks()
    waits = [
        asyncio.create_task(
            anext(
                FinalizationTrigger(
                    tables=["lake.long"],
                    until="2013-01-01T10:00Z",
                    iceberg_conn_id="ice",
                    poke_interval=1,
                ).run()
            )
        )
        for _ in range(WAITERS_ON_ONE)
    ]
    await asyncio.sleep(5)
    print(f"{WAITERS_ON_ONE} waiters on one table: {sum(looks.values())} looks in 5 s of 1 s intervals")
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)


def count_looks() -> dict[str, int]:
    """From now on, looks by table."""
    from airflow_provider_iceberg_finalization.lookup import lookout

    looks: dict[str, int] = {}
    real = lookout.TableReader

    class CountingReader(real):
        def look(self, table, branch):
            look = super().look(table, branch)
            looks[table] = looks.get(table, 0) + 1
            return look

    lookout.TableReader = CountingReader
    return looks


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what}: {(time.monotonic() - began) * 1000:.0f} ms")


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
