from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalization.times import (
    DAY_MS,
    Granularity,
    format_duration,
    format_instant,
    parse_duration,
    parse_instant,
    parse_interval,
    to_datetime,
    to_millis,
)

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2013-01-01T10:00Z", "2013-01-01T10:00:00Z"),
        ("2013-01-01T10:00:00+05:30", "2013-01-01T04:30:00Z"),
        ("2013-01-01T10:00:00.250Z", "2013-01-01T10:00:00.250Z"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
    ],
)
def test_instants_are_read_and_written_in_utc(text, canonical):
    assert format_instant(parse_instant(text)) == canonical


def test_an_instant_without_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        parse_instant("2013-01-01T10:00")


@pytest.mark.parametrize(
    ("text", "ms"),
    [("PT1H", 3_600_000), ("P1D", DAY_MS), ("PT0S", 0), ("PT1.5S", 1500), ("P1DT1M", DAY_MS + 60_000)],
)
def test_durations_are_read(text, ms):
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "1h", "-PT1H", "P1M", "PT1H2"])
def test_texts_that_are_no_durations_are_refused(text):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_intervals_take_short_and_iso_forms():
    assert [parse_interval(t) for t in ("10s", "500ms", "5m", "2h", "PT10S")] == [
        10_000,
        500,
        300_000,
        7_200_000,
        10_000,
    ]


def test_durations_read_well():
    assert [format_duration(ms) for ms in (0, 250, 12_000, 3_720_000, 90_000_000, -60_000)] == [
        "0s", "250ms", "12s", "1h 2m", "1d 1h", "-1m",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["PT7H", "P2D", "PT0S", "week"])
def test_a_granularity_must_divide_a_day(text):
    with pytest.raises(ValueError):
        Granularity.parse(text)


@pytest.mark.parametrize("zone", ZONES)
def test_each_day_of_a_zone_begins_at_its_first_instant(zone):
    granularity = Granularity.parse("day", zone)
    info = ZoneInfo(zone)
    for day in range(15_000, 15_800):
        start = granularity.start(day)
        first = to_datetime(start).astimezone(info)
        before = to_datetime(start - 1).astimezone(info)
        assert before.date() < first.date()
        assert granularity.index(start) == day
        assert granularity.index(start - 1) == day - 1


def test_days_with_daylight_saving_have_23_and_25_hours():
    granularity = Granularity.parse("day", "Europe/Berlin")
    lengths = {
        text: granularity.start(granularity.index(parse_instant(text)) + 1)
        - granularity.start(granularity.index(parse_instant(text)))
        for text in ("2013-03-31T12:00Z", "2013-10-27T12:00Z", "2013-06-01T12:00Z")
    }
    assert [length // 3_600_000 for length in lengths.values()] == [23, 25, 24]


@pytest.mark.parametrize(
    ("zone", "inside", "start"),
    [
        (
            "America/Sao_Paulo",
            "2013-10-20T12:00Z",
            "2013-10-20T03:00:00Z",
        ),  # midnight is skipped: day begins at 01:00
        ("Asia/Beirut", "2013-03-31T12:00Z", "2013-03-30T22:00:00Z"),
        ("America/Toronto", "1919-03-31T12:00Z", "1919-03-31T04:30:00Z"),  # 23:30 becomes 00:30
        ("Asia/Kolkata", "2013-01-01T12:00Z", "2012-12-31T18:30:00Z"),
        ("Australia/Adelaide", "2013-01-01T12:00Z", "2012-12-31T13:30:00Z"),
    ],
)
def test_day_boundaries_are_exact_in_awkward_zones(zone, inside, start):
    granularity = Granularity.parse("day", zone)
    assert format_instant(granularity.floor(parse_instant(inside))) == start


def test_a_day_that_a_zone_left_out_is_empty():
    granularity = Granularity.parse("day", "Pacific/Apia")  # crossed the date line: no 2011-12-30
    left_out = (datetime(2011, 12, 30) - datetime(1970, 1, 1)).days
    assert granularity.start(left_out) == granularity.start(left_out + 1)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.sampled_from(["hour", "PT15M", "P1D"]))
def test_an_instant_lies_between_its_partitions_boundaries(moment, text):
    granularity = Granularity.parse(text)
    instant = to_millis(moment.replace(tzinfo=UTC))
    index = granularity.index(instant)
    assert granularity.start(index) <= instant < granularity.start(index + 1)
    assert granularity.floor(instant) == granularity.start(index)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.sampled_from(ZONES))
def test_an_instant_lies_within_its_local_day(moment, zone):
    granularity = Granularity.parse("day", zone)
    instant = to_millis(moment.replace(tzinfo=UTC))
    index = granularity.index(instant)
    assert granularity.start(index) <= instant < granularity.start(index + 1)


@pytest.mark.parametrize("label", ["hour", "PT15M", "day@Europe/Berlin", "day@UTC"])
def test_a_label_names_its_granularity(label):
    assert Granularity.from_label(label).label == label


@pytest.mark.parametrize("label", ["day", "hour@UTC", "day@Nowhere/Land"])
def test_a_label_that_is_none_is_refused(label):
    with pytest.raises(ValueError):
        Granularity.from_label(label)


def test_milliseconds_are_exact_far_from_the_epoch():
    moment = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    assert to_datetime(to_millis(moment)) == moment
    assert to_millis(moment + timedelta(microseconds=999)) == to_millis(moment)
