import zipfile
from datetime import UTC, datetime, timedelta

import pytest

from demo.flights import CANCELLED_AFTER, Kind, changes_of, load_flights

HEADER = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    "origin,dest,air_time,distance,hour,minute,time_hour"
)
LATE = "2013,1,1,1030,2359,631,NA,NA,NA,B6,1,NA,JFK,BOS,NA,187,23,59,2013-01-02T04:00:00Z"
EARLY = "2013,1,1,2353,2359,-6,417,439,-22,B6,739,N123AA,JFK,SJU,191,1598,23,59,2013-01-02T04:00:00Z"
CANCELLED = "2013,1,1,NA,1630,NA,NA,1815,NA,EV,4308,N18120,EWR,RDU,NA,416,16,30,2013-01-01T21:00:00Z"
NEXT_DAY = "2013,1,2,42,2359,43,518,442,36,B6,707,N580JB,JFK,SJU,189,1598,23,59,2013-01-03T04:00:00Z"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "flights.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("flights.csv", "\n".join([HEADER, LATE, EARLY, CANCELLED, NEXT_DAY]))
    return path


def test_a_day_has_the_flights_scheduled_on_it(source):
    assert [flight.id for flight in load_flights(1, source)] == [1, 2, 3]
    assert [flight.id for flight in load_flights(2, source)] == [1, 2, 3, 4]


def test_a_long_delay_leaves_on_the_next_day(source):
    late = load_flights(1, source)[0]
    assert late.scheduled == datetime(2013, 1, 2, 4, 59, tzinfo=UTC)
    assert late.departed == late.scheduled + timedelta(hours=10, minutes=31)


def test_a_flight_is_inserted_when_it_leaves_and_updated_when_it_lands(source):
    flights = load_flights(1, source)
    changes = [change for change in changes_of(flights) if change.flight.id == 2]
    assert [change.kind for change in changes] == [Kind.INSERT, Kind.UPDATE]
    assert [change.at for change in changes] == [flights[1].departed, flights[1].landed]


def test_a_flight_whose_time_in_the_air_is_unknown_is_never_updated(source):
    changes = [change for change in changes_of(load_flights(1, source)) if change.flight.id == 1]
    assert [change.kind for change in changes] == [Kind.INSERT]


def test_a_cancelled_flight_is_inserted_as_scheduled_and_deleted_later(source):
    changes = [change for change in changes_of(load_flights(1, source)) if change.flight.id == 3]
    assert [change.kind for change in changes] == [Kind.INSERT, Kind.DELETE]
    assert changes[0].at == datetime(2013, 1, 1, 21, 30, tzinfo=UTC)
    assert changes[1].at - changes[0].at == CANCELLED_AFTER


def test_changes_of_different_flights_come_in_the_order_they_happen(source):
    changes = changes_of(load_flights(2, source))
    assert changes == sorted(changes, key=lambda change: change.at)


def test_the_real_first_two_days_are_read_whole():
    flights = load_flights(2)
    assert len(flights) == 842 + 943
    assert sum(flight.departed is None for flight in flights) == 4 + 8
