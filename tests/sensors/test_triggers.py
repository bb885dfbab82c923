"""Events and cursors of the triggers, driven as a triggerer drives them."""

import asyncio
from contextlib import aclosing

import pytest
from airflow.triggers.shared_stream import AdvanceItem, AdvanceOutcome

from airflow_provider_iceberg_finalization.triggers.finalization import FinalizationTrigger
from airflow_provider_iceberg_finalization.triggers.late_data import LateDataTrigger
from airflow_provider_iceberg_finalization.triggers.partitions import FinalizedPartitionTrigger
from airflow_provider_iceberg_finalization.triggers.watching import Sighting
from finalization.exceptions import ConfigurationError
from tests.sensors.lake import CONNECTION, FLIGHTS

SOON = 0.05
DEADLINE_S = 60


class Store(dict):
    """An asset's state store."""

    async def aget(self, key):
        return self.get(key)

    async def aset(self, key, value):
        self[key] = value


class SharedTriggersStore(Store):
    """Of a trigger that several assets share."""

    async def aget(self, key):
        raise ValueError("Task has 2 concrete inlets and outlets — use …")


def watcher(kind=FinalizedPartitionTrigger, store=None, **parameters):
    trigger = kind(table=FLIGHTS, iceberg_conn_id=CONNECTION, poke_interval=SOON, **parameters)
    trigger.asset_state_store = store
    return trigger


def run(coroutine):
    async def bounded():
        async with asyncio.timeout(DEADLINE_S):
            return await coroutine

    return asyncio.run(bounded())


async def take(trigger, number, *steps):
    """The first events; after each of them, the next step is done."""
    events, todo = [], iter(steps)
    async with aclosing(trigger.run()) as stream:
        async for event in stream:
            events.append(event.payload)
            if len(events) == number:
                return events
            next(todo, lambda: None)()
    return events


def hours(events):
    return [event["partition_start"][11:13] for event in events]


def test_each_hour_is_fired_once_in_order_also_when_the_watermark_jumps(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    events = run(take(watcher(store=Store()), 4, lambda: lake.set_watermark("2013-01-01T12:00:00Z")))
    assert hours(events) == ["08", "09", "10", "11"]


def test_a_restart_goes_on_after_the_last_hour_that_was_stored(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    trigger = watcher(store=Store())
    look = run(first_look(trigger))
    first, cursor = trigger.news(look, None)
    lake.set_watermark("2013-01-01T11:00:00Z")
    second, cursor = trigger.news(run(first_look(watcher())), cursor)
    assert hours(first + second) == ["08", "09", "10"]
    assert cursor == "2013-01-01T11:00:00Z"
    assert trigger.news(look, cursor) == ([], cursor)


async def first_look(trigger):
    async with aclosing(trigger._looks()) as looks:
        return await anext(looks)


def test_the_cursor_moves_only_after_the_events_are_stored(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    store = Store()

    async def as_the_triggerer_does():
        producer = FinalizedPartitionTrigger.create_shared_stream_producer(watcher().serialize()[1])
        trigger = watcher(store=store)
        async with aclosing(producer.open_stream()) as stream:
            sighting, payload = await anext(stream)

            async def shared():
                yield sighting

            events = [event.payload async for event in trigger.filter_shared_stream(shared())]
            before = dict(store)
            await producer.advance([AdvanceItem(payload, AdvanceOutcome(acked=1, failed=0))])
            return events, before

    events, before = run(as_the_triggerer_does())
    assert hours(events) == ["08"]
    assert before == {}
    assert store == {"finalization.final:lake.flights@main": "2013-01-01T09:00:00Z"}


def test_events_that_were_not_stored_begin_again(lake):
    producer = FinalizedPartitionTrigger.create_shared_stream_producer(watcher().serialize()[1])
    with pytest.raises(RuntimeError, match="were not stored"):
        run(producer.advance([AdvanceItem(Sighting(None), AdvanceOutcome(acked=0, failed=1))]))


@pytest.mark.parametrize("store", [None, SharedTriggersStore()])
def test_without_a_store_the_newest_hour_is_fired_again(lake, store):
    lake.create(watermark="2013-01-01T09:00:00Z")
    assert hours(run(take(watcher(store=store), 1))) == ["08"]
    assert hours(run(take(watcher(store=store), 1))) == ["08"]


def test_an_error_of_the_store_is_not_taken_for_its_absence(lake):
    class Broken(Store):
        async def aget(self, key):
            raise ValueError("backend is broken")

    lake.create(watermark="2013-01-01T09:00:00Z")
    with pytest.raises(ValueError, match="backend is broken"):
        run(take(watcher(store=Broken()), 1))


def test_a_first_start_fires_as_many_final_hours_as_asked(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    later = [lambda: None, lambda: None, lambda: lake.set_watermark("2013-01-01T10:00:00Z")]
    assert hours(run(take(watcher(replay=3, store=Store()), 4, *later))) == ["06", "07", "08", "09"]


def test_a_day_in_a_zone_ends_where_its_clocks_say(lake):
    lake.create(
        watermark="2013-03-31T22:00:00Z", granularity="day", time_zone="Europe/Berlin", event_time_column="id"
    )
    (event,) = run(take(watcher(store=Store()), 1))
    assert (event["partition_start"], event["partition_end"]) == (
        "2013-03-30T23:00:00Z",
        "2013-03-31T22:00:00Z",
    )


def test_a_table_without_a_policy_takes_its_partitions_from_the_trigger(lake):
    lake.create(watermark="2013-01-01T09:30:00Z")
    (event,) = run(take(watcher(granularity="PT15M", store=Store()), 1))
    assert event["partition_start"] == "2013-01-01T09:15:00Z"


def test_a_wrong_granularity_is_told_when_the_dag_is_read():
    with pytest.raises(ConfigurationError, match="granularity is 'weekly'"):
        watcher(granularity="weekly")


def test_a_table_and_a_watermark_that_come_later_are_seen(lake):
    async def later():
        events = asyncio.create_task(take(watcher(store=Store()), 1))
        await asyncio.sleep(SOON * 3)
        lake.create()
        await asyncio.sleep(SOON * 3)
        lake.set_watermark("2013-01-01T09:00:00Z")
        return await events

    assert hours(run(later())) == ["08"]


def test_late_rows_fire_for_each_hour_with_counts_once(lake):
    lake.create(watermark="2013-01-01T12:00:00Z")
    lake.commit_late({"2013-01-01T07:00Z": 9})
    store = Store()

    async def late():
        trigger = watcher(LateDataTrigger, store)
        look = await first_look(trigger)
        _, cursor = trigger.news(look, None)
        lake.commit_late({"2013-01-01T09:00Z": 2})
        newest = lake.commit_late({"2013-01-01T08:00Z": 1, "2013-01-01T09:00Z": 5})
        look = await first_look(watcher(LateDataTrigger))
        events, cursor = trigger.news(look, cursor)
        return events, trigger.news(look, cursor)[0], newest

    events, again, newest = run(late())
    assert [(e["partition_start"][11:13], e["late_records"], e["commits"]) for e in events] == [
        ("08", 1, 1),
        ("09", 7, 2),
    ]
    assert {event["snapshot_id"] for event in events} == {newest}
    assert again == []


def test_late_rows_too_old_to_be_told_apart_have_no_start(lake):
    lake.create(watermark="2013-01-01T12:00:00Z")
    trigger = watcher(LateDataTrigger)
    _, cursor = trigger.news(run(first_look(trigger)), None)
    lake.commit_late({"2013-01-01T11:00Z": 1}, older=4)
    events, _ = trigger.news(run(first_look(watcher(LateDataTrigger))), cursor)
    assert [(e["partition_start"], e["partition_end"][11:13], e["late_records"]) for e in events] == [
        (None, "11", 4),
        ("2013-01-01T11:00:00Z", "12", 1),
    ]


@pytest.mark.parametrize(
    "trigger",
    [
        watcher(replay=3, granularity="PT15M"),
        watcher(LateDataTrigger, branch="audit"),
        FinalizationTrigger(tables=[FLIGHTS], until="2013-01-01T10:00:00Z", max_late=1, patience=None),
    ],
)
def test_a_trigger_survives_the_database(trigger):
    classpath, arguments = trigger.serialize()
    assert classpath.rpartition(".")[2] == type(trigger).__name__
    assert type(trigger)(**arguments).serialize() == (classpath, arguments)


def test_different_watchers_have_streams_of_their_own():
    keys = {
        watcher().shared_stream_key(),
        watcher(replay=2).shared_stream_key(),
        watcher(LateDataTrigger).shared_stream_key(),
    }
    assert len(keys) == 3


def test_a_deferred_wait_ends_when_the_watermark_arrives(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    trigger = FinalizationTrigger(
        tables=[FLIGHTS], until="2013-01-01T10:00Z", iceberg_conn_id=CONNECTION, poke_interval=SOON
    )

    async def wait():
        event = asyncio.create_task(anext(trigger.run()))
        await asyncio.sleep(SOON * 3)
        assert not event.done()
        lake.set_watermark("2013-01-01T10:00:00Z")
        return (await event).payload

    assert run(wait())["status"] == "final"


def test_a_deferred_wait_for_an_unreachable_catalog_ends_after_patience(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_ICE", '{"conn_type": "iceberg", "host": "http://127.0.0.1:1"}')
    trigger = FinalizationTrigger(
        tables=[FLIGHTS],
        until="2013-01-01T10:00Z",
        iceberg_conn_id=CONNECTION,
        poke_interval=SOON,
        patience=0.2,
    )

    async def wait():
        return (await anext(trigger.run())).payload

    assert run(wait())["status"] == "unreachable"
