"""What authors may write as `until`."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from airflow.sdk import timezone as airflow_timezone

from airflow_provider_iceberg_finalization.instants import read_until
from finalization.exceptions import ConfigurationError
from finalization.times import format_instant

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    "value",
    [
        "2013-01-01T10:00:00Z",
        "2013-01-01 10:00:00+00:00",  # how {{ data_interval_end }} renders
        "2013-01-01T15:30:00+05:30",
        "2013-01-01T05:00:00-05:00",
        datetime(2013, 1, 1, 10, tzinfo=UTC),
        datetime(2013, 1, 1, 11, tzinfo=BERLIN),
        datetime(2013, 1, 1, 15, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        airflow_timezone.datetime(2013, 1, 1, 10),
    ],
)
def test_an_instant_with_a_zone_is_the_same_instant_in_every_form(value):
    assert format_instant(read_until(value)) == "2013-01-01T10:00:00Z"


@pytest.mark.parametrize("value", ["2013-01-01T10:00:00", "2013-01-01", datetime(2013, 1, 1, 10)])
def test_an_instant_without_a_zone_is_refused(value):
    with pytest.raises(ConfigurationError, match=r"expected an instant with a zone.*Fix: name the zone"):
        read_until(value)


def test_the_hour_that_a_change_of_clocks_repeats_is_two_instants():
    first = datetime(2013, 10, 27, 2, 30, tzinfo=BERLIN, fold=0)
    second = datetime(2013, 10, 27, 2, 30, tzinfo=BERLIN, fold=1)
    assert format_instant(read_until(first)) == "2013-10-27T00:30:00Z"
    assert format_instant(read_until(second)) == "2013-10-27T01:30:00Z"
    assert read_until(first.isoformat()) == read_until(first)
    assert read_until(second.isoformat()) == read_until(second)


def test_a_day_of_23_hours_ends_where_the_zone_says():
    assert format_instant(read_until("2013-04-01T00:00:00+02:00")) == "2013-03-31T22:00:00Z"


@pytest.mark.parametrize("value", [None, "None", ""])
def test_a_run_without_a_data_interval_is_told_what_to_do(value):
    with pytest.raises(ConfigurationError, match="no data interval"):
        read_until(value)
