"""The answer to a wait, from looks made by hand and from looks at real tables."""

import pytest

from airflow_provider_iceberg_finalization.lookup.look import TableLook
from airflow_provider_iceberg_finalization.lookup.reader import TableReader
from airflow_provider_iceberg_finalization.waiting import Status, Terms, Wait, late_before
from finalization.exceptions import CatalogUnreachableError, ConfigurationError
from finalization.times import format_instant, parse_instant
from tests.sensors.lake import FACTS, FLIGHTS, SensorLake

TEN = parse_instant("2013-01-01T10:00Z")


def see(lake: SensorLake, wait: Wait, *tables: str):
    reader = TableReader(lake.client)
    lines = [wait.see(table, reader.look(table, "main"), 0.0) for table in tables or (FLIGHTS,)]
    return wait.ending(None, 0.0), lines


@pytest.mark.parametrize(
    ("watermark", "final"),
    [("2013-01-01T09:00:00Z", False), ("2013-01-01T10:00:00Z", True), ("2013-01-01T11:00:00Z", True)],
)
def test_final_means_that_the_watermark_reached_the_end(lake, watermark, final):
    lake.create(watermark=watermark)
    ending, _ = see(lake, Wait(Terms((FLIGHTS,), TEN)))
    assert (ending is not None) == final


def test_each_look_tells_watermark_awaited_gap_and_reason(lake):
    lake.create(watermark="2013-01-01T08:30:00Z", event_time_column="id")
    lake.commit(FACTS)
    _, lines = see(lake, Wait(Terms((FLIGHTS,), TEN)))
    assert lines == [
        "lake.flights: W 2013-01-01T08:30:00Z, awaited 2013-01-01T10:00:00Z, gap 1h 30m; "
        "warming-up 1/12: that is the whole history so far"
    ]


def test_a_missing_table_and_a_missing_watermark_are_waited_for(lake):
    lake.create()
    ending, lines = see(lake, Wait(Terms((FLIGHTS, "lake.flight"), TEN)), FLIGHTS, "lake.flight")
    assert ending is None
    assert "lake.flights: W none yet, awaited 2013-01-01T10:00:00Z" in lines[0]
    assert "there is no table lake.flight; did you mean lake.flights?" in lines[1]


def test_a_missing_table_that_must_exist_is_a_mistake(lake):
    lake.create()
    ending, _ = see(lake, Wait(Terms(("lake.flight",), TEN, must_exist=True)), "lake.flight")
    assert ending.status is Status.MISTAKE
    assert "did you mean lake.flights" in ending.text


def test_several_tables_are_final_when_the_last_one_is(lake):
    lake.create("lake.a", watermark="2013-01-01T12:00:00Z")
    lake.create("lake.b", watermark="2013-01-01T09:00:00Z")
    wait = Wait(Terms(("lake.a", "lake.b"), TEN))
    assert see(lake, wait, "lake.a", "lake.b")[0] is None
    lake.set_watermark("2013-01-01T10:00:00Z", "lake.b")
    ending, _ = see(lake, wait, "lake.b")
    assert ending.to_json()["watermarks"] == {
        "lake.a": "2013-01-01T12:00:00Z",
        "lake.b": "2013-01-01T10:00:00Z",
    }


def test_late_rows_of_other_hours_do_not_count(lake):
    lake.create(watermark="2013-01-01T12:00:00Z")
    lake.commit_late({"2013-01-01T08:00Z": 5, "2013-01-01T10:00Z": 7})
    ending, _ = see(lake, Wait(Terms((FLIGHTS,), TEN, max_late=0)))
    assert ending.status is Status.FINAL


def test_late_rows_of_the_awaited_hour_end_the_wait(lake):
    lake.create(watermark="2013-01-01T12:00:00Z")
    lake.commit_late({"2013-01-01T09:00Z": 2})
    lake.commit_late({"2013-01-01T09:00Z": 1})
    assert see(lake, Wait(Terms((FLIGHTS,), TEN, max_late=3)))[0].status is Status.FINAL
    ending, _ = see(lake, Wait(Terms((FLIGHTS,), TEN, max_late=2)))
    assert ending.status is Status.LATE
    assert "3 records came late into 2013-01-01T09:00:00Z to 2013-01-01T10:00:00Z" in ending.text


def test_late_rows_too_old_to_be_told_apart_count_in_full(lake):
    lake.create(watermark="2013-01-01T12:00:00Z")
    lake.commit_late({"2013-01-01T11:00Z": 1}, older=4)
    start, late = late_before(TableReader(lake.client).look(FLIGHTS, "main"), TEN)
    assert (format_instant(start), late) == ("2013-01-01T09:00:00Z", 4)


def test_max_late_of_a_table_that_counts_none_asks_for_the_one_that_does(lake):
    lake.create("lake.base", watermark="2013-01-01T10:00:00Z")
    lake.create("lake.cdc", watermark="2013-01-01T10:00:00Z")
    lake.commit_late({"2013-01-01T09:00Z": 1}, "lake.cdc")
    ending, _ = see(lake, Wait(Terms(("lake.base",), TEN, max_late=0)), "lake.base")
    assert ending.status is Status.MISTAKE
    assert "late_table" in ending.text
    terms = Terms(("lake.base",), TEN, max_late=0, late_table="lake.cdc")
    assert see(lake, Wait(terms), *terms.looked_at)[0].status is Status.LATE


def test_an_unreachable_catalog_is_waited_for_as_long_as_patience():
    wait = Wait(Terms((FLIGHTS,), TEN, patience_s=60))
    failure = CatalogUnreachableError("catalog ice cannot be reached")
    wait.see(FLIGHTS, failure, 100.0)
    assert wait.ending(failure, 100.0) is None
    assert wait.ending(failure, 159.0) is None
    assert wait.ending(failure, 160.0).status is Status.UNREACHABLE


def test_patience_begins_anew_after_an_answer():
    wait = Wait(Terms((FLIGHTS,), TEN, patience_s=60))
    failure = CatalogUnreachableError("catalog ice cannot be reached")
    wait.see(FLIGHTS, failure, 100.0)
    wait.see(FLIGHTS, TableLook(FLIGHTS, ""), 150.0)
    wait.see(FLIGHTS, failure, 170.0)
    assert wait.ending(failure, 200.0) is None


def test_what_no_waiting_puts_right_ends_the_wait_at_once():
    wait = Wait(Terms((FLIGHTS,), TEN, patience_s=None))
    failure = ConfigurationError("finalization.watermark is 'soon'")
    wait.see(FLIGHTS, failure, 0.0)
    assert wait.ending(failure, 0.0).status is Status.MISTAKE


@pytest.mark.parametrize("tables", [("flights",), (), ("lake.a", "b")])
def test_tables_without_full_names_are_refused(tables):
    with pytest.raises(ConfigurationError, match="full name"):
        Terms(tables, TEN)
