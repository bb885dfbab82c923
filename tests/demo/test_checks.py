"""Each check passes on tables that are right and fails on tables that are wrong in one way."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from demo import checks
from demo.consumer import Report, as_text
from demo.database import COLUMNS
from demo.lake import rows_of_hour
from demo.topic import Counts

HOUR = datetime(2013, 1, 1, 13, tzinfo=UTC)
HOUR_INDEX = int(HOUR.timestamp()) // 3600
NAMES = [column.name for column in COLUMNS]
UTC_MICROS = pa.timestamp("us", tz="UTC")
ARROW_TYPES = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP(6)": pa.timestamp("us"),
    "TIMESTAMP_LTZ(6)": UTC_MICROS,
    "DECIMAL(6, 1)": pa.decimal128(6, 1),
}
ROW_FIELDS = [pa.field(column.name, ARROW_TYPES[column.flink]) for column in COLUMNS]
BASE = pa.schema([*ROW_FIELDS, pa.field("_event_time", UTC_MICROS)])
CDC = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("_event_time", UTC_MICROS),
        pa.field("_topic", pa.string()),
        pa.field("_kafka_partition", pa.int32()),
        pa.field("_offset", pa.int64()),
    ]
)
DEAD = pa.schema([pa.field("offset", pa.int64())])


def flight(number: int) -> dict:
    scheduled = HOUR.replace(minute=30)
    local = scheduled.replace(tzinfo=None)
    known = (number, date(2013, 1, 1), "UA", 7, None, "EWR", "IAH", local, scheduled, 0)
    values = (*known, None, None, Decimal("1400.0"), "departed")
    return dict(zip(NAMES, values, strict=True))


def base_row(row: dict) -> dict:
    return {**row, "_event_time": row["sched_dep"].replace(tzinfo=UTC)}


def cdc_row(number: int, offset: int) -> dict:
    return {
        "id": number,
        "_event_time": HOUR.replace(minute=30),
        "_topic": "t",
        "_kafka_partition": 0,
        "_offset": offset,
    }


def facts(count: int, late: int = 0) -> dict[str, str]:
    prefix = "accumulator.event-time."
    summary = {f"{prefix}count": str(count), f"{prefix}nulls": "0", f"{prefix}rejected": "0"}
    if count:
        at = str(int(HOUR.timestamp() * 1000))
        summary |= {
            f"{prefix}min-ms": at,
            f"{prefix}max-ms": at,
            f"{prefix}partitions": f"hour|{HOUR_INDEX}:{count}|0",
        }
    if late:
        summary |= {
            "finalization.late-records": str(late),
            "finalization.late-partitions": f"hour|{HOUR_INDEX}:{late}|0",
        }
    return summary


@pytest.fixture
def catalog(tmp_path):
    made = SqlCatalog("ice", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    made.create_namespace("lake")
    return made


def table(catalog, name, schema, watermark):
    return catalog.create_table(name, schema=schema, properties={"finalization.watermark": watermark})


@pytest.fixture
def base(catalog):
    return catalog.create_table(
        "lake.flights", schema=BASE, properties={"finalization.watermark": "2013-01-01T14:00:00Z"}
    )


@pytest.fixture
def cdc(catalog):
    return catalog.create_table(
        "lake.cdc", schema=CDC, properties={"finalization.watermark": "2013-01-01T15:00:00Z"}
    )


@pytest.fixture
def dead_letters(catalog):
    return catalog.create_table("lake.dead", schema=DEAD)


def append(table, rows, summary=None):
    table.append(pa.Table.from_pylist(rows, table.schema().as_arrow()), summary or {})
    return table.current_snapshot().snapshot_id


def test_equal_rows_pass(base):
    append(base, [base_row(flight(1)), base_row(flight(2))])
    check = checks.base_equals_database({1: flight(1), 2: flight(2)}, base)
    assert check.passed, check.detail


@pytest.mark.parametrize(
    ("database", "problem"),
    [
        ({1: flight(1)}, "1 too many"),
        ({1: flight(1), 2: flight(2), 3: flight(3)}, "1 missing"),
        ({1: flight(1), 2: flight(2) | {"dep_delay": 5}}, "id 2: dep_delay is 0, not 5"),
        ({1: flight(1), 2: flight(2) | {"tailnum": ""}}, "id 2: tailnum is None, not ''"),
    ],
)
def test_a_row_too_many_too_few_or_with_another_value_fails(base, database, problem):
    append(base, [base_row(flight(1)), base_row(flight(2))])
    check = checks.base_equals_database(database, base)
    assert not check.passed
    assert problem in check.detail


def test_a_row_that_is_there_twice_fails(base):
    append(base, [base_row(flight(1)), base_row(flight(1))])
    assert not checks.base_equals_database({1: flight(1)}, base).passed


def test_events_and_dead_letters_that_arrived_once_pass(cdc, dead_letters):
    append(cdc, [cdc_row(1, 0), cdc_row(1, 2)])
    append(dead_letters, [{"offset": 1}])
    assert checks.every_event_arrived_once(Counts(changes=2, tombstones=5, bad=1), cdc, dead_letters).passed


@pytest.mark.parametrize("counts", [Counts(3, 0, 1), Counts(1, 0, 1), Counts(2, 0, 0), Counts(2, 0, 2)])
def test_events_or_dead_letters_lost_or_made_up_fail(cdc, dead_letters, counts):
    append(cdc, [cdc_row(1, 0), cdc_row(1, 2)])
    append(dead_letters, [{"offset": 1}])
    assert not checks.every_event_arrived_once(counts, cdc, dead_letters).passed


def test_an_event_that_is_there_twice_in_place_of_another_fails(cdc, dead_letters):
    append(cdc, [cdc_row(1, 0), cdc_row(1, 0)])
    assert not checks.every_event_arrived_once(Counts(changes=2), cdc, dead_letters).passed


def test_the_base_table_may_be_behind_but_never_ahead(base, cdc):
    assert checks.base_never_ahead(base, cdc).passed
    assert not checks.base_never_ahead(cdc, base).passed


def test_no_watermark_at_all_fails(cdc, dead_letters):
    assert not checks.base_never_ahead(dead_letters, cdc).passed


def test_commits_with_facts_about_all_their_rows_pass(cdc):
    append(cdc, [cdc_row(1, 0), cdc_row(2, 1)], facts(2))
    assert checks.every_commit_has_facts(cdc).passed


@pytest.mark.parametrize("summary", [{}, facts(1), facts(3)])
def test_a_commit_without_facts_or_with_wrong_ones_fails(cdc, summary):
    append(cdc, [cdc_row(1, 0), cdc_row(2, 1)], facts(2))
    append(cdc, [cdc_row(3, 2), cdc_row(4, 3)], summary)
    assert not checks.every_commit_has_facts(cdc).passed


def test_a_table_without_commits_fails(cdc):
    assert not checks.every_commit_has_facts(cdc).passed


def report_of(base, pinned: int, watermark: datetime = HOUR.replace(hour=14)) -> Report:
    return Report(watermark, pinned, as_text(rows_of_hour(base, HOUR, NAMES)))


def test_an_hour_without_late_rows_passes(base, cdc):
    pinned = append(cdc, [cdc_row(1, 0)], facts(1))
    append(base, [base_row(flight(1))])
    check = checks.consumer_read_complete_hour(report_of(base, pinned), HOUR, base, cdc)
    assert check.passed, check.detail


def test_an_hour_whose_later_rows_were_counted_as_late_passes(base, cdc):
    pinned = append(cdc, [cdc_row(1, 0)], facts(1))
    append(base, [base_row(flight(1))])
    report = report_of(base, pinned)
    append(cdc, [cdc_row(2, 1)], facts(1, late=1))
    append(base, [base_row(flight(2))])
    check = checks.consumer_read_complete_hour(report, HOUR, base, cdc)
    assert check.passed, check.detail
    assert "1 change came later, 1 counted as late" in check.detail


def test_an_hour_that_got_rows_nobody_counted_as_late_fails(base, cdc):
    pinned = append(cdc, [cdc_row(1, 0)], facts(1))
    append(base, [base_row(flight(1))])
    report = report_of(base, pinned)
    append(cdc, [cdc_row(2, 1)], facts(1))
    assert not checks.consumer_read_complete_hour(report, HOUR, base, cdc).passed


def test_a_row_that_the_consumer_missed_fails(base, cdc):
    pinned = append(cdc, [cdc_row(1, 0), cdc_row(2, 1)], facts(2))
    append(base, [base_row(flight(1))])
    report = report_of(base, pinned)
    append(base, [base_row(flight(2))])
    assert not checks.consumer_read_complete_hour(report, HOUR, base, cdc).passed


def test_a_release_before_the_hour_was_final_fails(base, cdc):
    pinned = append(cdc, [cdc_row(1, 0)], facts(1))
    append(base, [base_row(flight(1))])
    early = report_of(base, pinned, HOUR)
    assert not checks.consumer_read_complete_hour(early, HOUR, base, cdc).passed


def test_a_consumer_that_was_never_released_fails(base, cdc):
    assert not checks.consumer_read_complete_hour(None, HOUR, base, cdc).passed
