"""Shared lookups: how often a catalog is asked, what is read, and who waits for whom."""

import asyncio
import threading
from collections import Counter

import pytest

from airflow_provider_iceberg_finalization.connection import open_client
from airflow_provider_iceberg_finalization.lookup import reader as reader_module
from airflow_provider_iceberg_finalization.lookup.lookout import Lookout
from airflow_provider_iceberg_finalization.lookup.reader import TableReader
from finalization.exceptions import CatalogUnreachableError, ConfigurationError
from finalization.times import parse_instant
from tests.sensors.lake import CONNECTION, FLIGHTS

DEADLINE_S = 60
SOON = 0.05


def run(coroutine):
    async def bounded():
        async with asyncio.timeout(DEADLINE_S):
            return await coroutine

    return asyncio.run(bounded())


@pytest.fixture
def reads(lake, monkeypatch):
    """Counts how often each table's metadata is read."""
    counts: Counter[str] = Counter()
    real = reader_module.look_at

    def counting(state, branch):
        counts[state.table] += 1
        return real(state, branch)

    monkeypatch.setattr(reader_module, "look_at", counting)
    return counts


def test_unchanged_metadata_is_not_read_again(lake, reads):
    lake.create(watermark="2013-01-01T09:00:00Z")
    reader = TableReader(lake.client)
    first = reader.look(FLIGHTS, "main")
    assert reader.look(FLIGHTS, "main") is first
    lake.set_watermark("2013-01-01T10:00:00Z")
    assert reader.look(FLIGHTS, "main").watermark_ms == parse_instant("2013-01-01T10:00Z")
    assert reads[FLIGHTS] == 2


def test_a_table_that_appears_is_seen(lake):
    reader = TableReader(lake.client)
    assert not reader.look(FLIGHTS, "main").exists
    assert reader.look(FLIGHTS, "main") is reader.look(FLIGHTS, "main")
    lake.create(watermark="2013-01-01T09:00:00Z")
    assert reader.look(FLIGHTS, "main").exists
    lake.client.catalog.drop_table(FLIGHTS)
    assert not reader.look(FLIGHTS, "main").exists


def test_an_unreadable_watermark_is_a_mistake_in_the_table(lake):
    lake.create(watermark="soon")
    with pytest.raises(ConfigurationError, match=r"finalization\.watermark is 'soon'"):
        TableReader(lake.client).look(FLIGHTS, "main")


def test_many_waiters_on_a_table_share_each_look(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    asked: Counter[str] = Counter()

    class CountingReader(TableReader):
        def look(self, table, branch):
            asked[table] += 1
            return super().look(table, branch)

    async def wait_together():
        lookout = Lookout()
        looks = []

        async def one():
            async with lookout.watch(CONNECTION, [FLIGHTS], "main", 3600) as subscription:
                looks.append(await subscription.next())

        await asyncio.gather(*(one() for _ in range(100)))
        return looks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow_provider_iceberg_finalization.lookup.lookout.TableReader", CountingReader)
        looks = run(wait_together())
    assert len(looks) == 100
    assert asked[FLIGHTS] == 1


def test_the_shortest_interval_of_the_waiters_counts(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")

    async def patient_and_hasty():
        lookout = Lookout()
        async with lookout.watch(CONNECTION, [FLIGHTS], "main", 3600) as patient:
            await patient.next()
            async with lookout.watch(CONNECTION, [FLIGHTS], "main", SOON) as hasty:
                await hasty.next()
                lake.set_watermark("2013-01-01T10:00:00Z")
                while (await hasty.next())[1].watermark_ms != parse_instant("2013-01-01T10:00Z"):
                    pass
            return (await patient.next())[1].watermark_ms

    assert run(patient_and_hasty()) == parse_instant("2013-01-01T10:00Z")


def test_a_catalog_that_hangs_does_not_hold_up_another(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    hang = threading.Event()

    def opener(connection):
        if connection == "slow":
            hang.wait(DEADLINE_S)
        return open_client(CONNECTION)

    async def fast_beside_slow():
        lookout = Lookout(opener)
        tables = [f"lake.t{n}" for n in range(50)]
        async with (
            lookout.watch("slow", tables, "main", SOON),
            lookout.watch(CONNECTION, [FLIGHTS], "main", SOON) as fast,
        ):
            try:
                return [await fast.next() for _ in range(3)]
            finally:
                hang.set()

    assert len(run(fast_beside_slow())) == 3


def test_a_catalog_that_comes_back_is_opened_anew(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    failures = iter([True, True])

    def opener(connection):
        if next(failures, False):
            raise CatalogUnreachableError("catalog ice cannot be reached")
        return open_client(connection)

    async def outcomes():
        async with Lookout(opener).watch(CONNECTION, [FLIGHTS], "main", SOON) as subscription:
            return [(await subscription.next())[1] for _ in range(3)]

    first, second, third = run(outcomes())
    assert isinstance(first, CatalogUnreachableError)
    assert isinstance(second, CatalogUnreachableError)
    assert third.watermark_ms == parse_instant("2013-01-01T09:00Z")


def test_nothing_is_polled_when_nobody_waits(lake, reads):
    lake.create(watermark="2013-01-01T09:00:00Z")

    async def leave():
        lookout = Lookout()
        before = asyncio.all_tasks()
        async with lookout.watch(CONNECTION, [FLIGHTS, "lake.b"], "main", SOON) as subscription:
            await subscription.next()
        await asyncio.sleep(0)
        return asyncio.all_tasks() - before, lookout

    tasks, lookout = run(leave())
    assert {task for task in tasks if not task.cancelled() and not task.done()} == set()
    assert not lookout._polls
    assert not lookout._catalogs


def test_a_sql_catalog_goes_by_its_own_name_where_the_connection_gives_one(lake, monkeypatch):
    lake.create(watermark="2013-01-01T09:00:00Z")
    extra = lake.connection.replace('"type"', f'"catalog-name": "{CONNECTION}", "type"')
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", extra)
    assert open_client("other").watermark(FLIGHTS) is not None


def test_a_mistyped_path_of_a_sqlite_catalog_is_unreachable(tmp_path, monkeypatch):
    monkeypatch.setenv(
        "AIRFLOW_CONN_ICE",
        f'{{"conn_type": "iceberg", "extra": {{"type": "sql", "uri": "sqlite:///{tmp_path}/none.db"}}}}',
    )
    with pytest.raises(CatalogUnreachableError, match=r"none\.db"):
        open_client(CONNECTION)
