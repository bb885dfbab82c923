"""The CDC job on real Kafka, Flink and Iceberg: rows, dead letters, facts and a watermark."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from local_stack.stack import Stack
from local_stack.waiting import wait_until
from spark_upsert.session import create_session
from tests.pipelines import FIXTURES, PipelineCase, change, produce, real_messages

pytestmark = pytest.mark.integration

ORDERS = {
    "id": "BIGINT",
    "customer": "STRING",
    "amount": "DECIMAL(20, 4)",
    "status": "STRING",
    "note": "STRING",
    "tags": "STRING",
    "created_at": "TIMESTAMP_LTZ(6)",
    "updated_at": "TIMESTAMP(6)",
    "currency": "STRING",
}
OPERATIONS = {"r": 3, "c": 5, "u": 3, "d": 2, "t": 1}
BAD_VALUES = [
    b"this is no json",
    b'{"some": "json"}',
    b'{"op":"c","source":{"lsn":1,"ts_ms":1},"after":{"id":"x"}}',
]


@pytest.fixture(scope="module")
def orders(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> PipelineCase:
    """A finished look at a job that got all real messages, and some that are none."""
    directory = tmp_path_factory.mktemp("orders")
    case = PipelineCase.create(
        directory, stack.kafka.bootstrap, "orders", ORDERS, ["id"], {"column": "created_at"}
    )
    names = sorted(path.stem for path in (FIXTURES / "debezium").glob("*.json"))
    messages = [m for m in real_messages(*names) if not m["topic"].endswith(".items")]
    values = [json.dumps(m["value"]).encode() if m["value"] else None for m in messages]
    produce(stack.kafka.bootstrap, "orders", [*values, *BAD_VALUES])
    with case.job():
        rows = sum(1 for m in messages if m["value"] and m["topic"].endswith(".orders"))
        wait_until(
            lambda: case.count(case.pipeline.tables.cdc) >= rows, 120, f"{rows} changes are in the table"
        )
        wait_until(
            lambda: case.count(case.pipeline.tables.dead_letters) >= len(BAD_VALUES),
            60,
            "dead letters are kept",
        )
    return case


def test_every_real_message_gives_its_row(orders: PipelineCase) -> None:
    rows = orders.rows(orders.pipeline.tables.cdc)
    assert Counter(row["_op"] for row in rows) == OPERATIONS
    by_offset = {(row["_op"], row["id"], row["_position"]): row for row in rows}
    insert = by_offset["c", 10, "00000000000024362688.0000000001"]
    assert insert["customer"] == "alice"
    assert insert["amount"] == Decimal("12.5000")
    assert insert["created_at"] == dt.datetime(2026, 11, 30, 21, 9, 13, 344838, tzinfo=dt.UTC)
    assert insert["_event_time"] == dt.datetime(2026, 11, 30, 21, 9, 13, 344000, tzinfo=dt.UTC)
    assert insert["_source_ts"] == dt.datetime(2026, 11, 30, 21, 9, 13, 349000, tzinfo=dt.UTC)
    update = by_offset["u", 10, "00000000000024363072.0000000001"]
    assert update["updated_at"] == dt.datetime(2026, 11, 30, 21, 9, 13, 349451)


def test_a_key_change_keeps_its_order_within_one_lsn(orders: PipelineCase) -> None:
    rows = [row for row in orders.rows(orders.pipeline.tables.cdc) if "24363408." in row["_position"]]
    assert [(row["_op"], row["id"]) for row in sorted(rows, key=lambda row: row["_position"])] == [
        ("d", 10),
        ("c", 11),
    ]


def test_snapshot_rows_have_no_event_time(orders: PipelineCase) -> None:
    rows = [row for row in orders.rows(orders.pipeline.tables.cdc) if row["_op"] == "r"]
    assert len(rows) == 3
    assert all(row["_event_time"] is None for row in rows)


def test_a_truncate_is_a_row_with_its_place_in_the_log(orders: PipelineCase) -> None:
    (row,) = [row for row in orders.rows(orders.pipeline.tables.cdc) if row["_op"] == "t"]
    (message,) = real_messages("truncate")
    lsn = message["value"]["source"]["lsn"]
    assert row["_position"] == f"{lsn:020d}.0000000001"
    assert row["_source_ts"] is not None
    assert row["_topic"] == "orders"
    assert {row[name] for name in (*ORDERS, "_event_time")} == {None}
    # By this the upsert finds it without reading the rows.
    table = orders.table(orders.pipeline.tables.cdc)
    key = table.schema().find_field("id").field_id
    nulls = [dict(counts)[key] for counts in table.inspect.files()["null_value_counts"].to_pylist()]
    assert sum(nulls) == 1


def test_schema_changes_and_unchanged_toast_come_through(orders: PipelineCase) -> None:
    rows = {(row["id"], row["_op"]): row for row in orders.rows(orders.pipeline.tables.cdc)}
    assert rows[12, "c"]["currency"] == "USD"
    assert rows[14, "c"]["amount"] == Decimal("9.1234")
    assert rows[14, "c"]["tags"] is None
    assert rows[13, "u"]["note"] == "__debezium_unavailable_value"


def test_what_is_no_change_is_kept_with_its_reason(orders: PipelineCase) -> None:
    letters = orders.rows(orders.pipeline.tables.dead_letters)
    assert {row["value"] for row in letters} == set(BAD_VALUES)
    reasons = {row["value"]: row["reason"] for row in letters}
    assert reasons[BAD_VALUES[0]].startswith("not JSON")
    assert reasons[BAD_VALUES[1]].startswith("no Debezium envelope")
    assert reasons[BAD_VALUES[2]].startswith("column 'id'")
    assert {row["topic"] for row in letters} == {"orders"}
    assert all(row["offset"] is not None and row["partition"] == 0 for row in letters)


def test_every_snapshot_carries_its_facts(orders: PipelineCase) -> None:
    totals: Counter[str] = Counter()
    for summary in orders.summaries(orders.pipeline.tables.cdc):
        facts = {
            k.rpartition(".")[2]: v for k, v in summary.items() if k.startswith("accumulator.event-time.")
        }
        assert {"count", "nulls", "rejected"} <= set(facts)
        if int(facts["count"]):
            assert {"min-ms", "max-ms", "digest", "partitions"} <= set(facts)
        for key in ("count", "nulls", "rejected"):
            totals[key] += int(facts[key])
    rows = orders.rows(orders.pipeline.tables.cdc)
    assert totals["count"] + totals["nulls"] + totals["rejected"] == len(rows)
    # Deletes without a full before image have a made-up created_at of 1970. Snapshot reads and the truncate
    # have none.
    assert (totals["nulls"], totals["rejected"]) == (4, 2)


def test_spark_selects_every_column(orders: PipelineCase) -> None:
    catalog = orders.pipeline.catalog
    # A session of its own: other tests have a catalog of this name.
    spark = create_session(catalog).newSession()
    for key, value in catalog.spark_properties().items():
        spark.conf.set(key, value)
    rows = spark.sql(f"SELECT * FROM {catalog.name}.{orders.pipeline.tables.cdc}").collect()
    assert Counter(row["_op"] for row in rows) == OPERATIONS
    assert {row["_kafka_partition"] for row in rows} == {0}


def test_messages_with_their_schema_block_are_read(stack: Stack, tmp_path: Path) -> None:
    columns = {"order_id": "BIGINT", "line": "INT", "sku": "STRING", "qty": "INT"}
    case = PipelineCase.create(
        tmp_path, stack.kafka.bootstrap, "items", columns, ["order_id", "line"], {"column": "source.ts_ms"}
    )
    messages = real_messages("with_schema", "update_full_identity")
    produce(stack.kafka.bootstrap, "items", [json.dumps(m["value"]).encode() for m in messages if m["value"]])
    with case.job():
        wait_until(lambda: case.count(case.pipeline.tables.cdc) >= 2, 120, "both messages are in the table")
    rows = {(row["order_id"], row["line"]): row for row in case.rows(case.pipeline.tables.cdc)}
    assert rows[77, 1]["sku"] == "z"
    assert rows[10, 1]["qty"] == 7
    assert all(row["_event_time"] == row["_source_ts"] is not None for row in rows.values())


def test_a_python_function_reads_the_event_time(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FIXTURES.parents[1]))
    case = PipelineCase.create(
        tmp_path,
        stack.kafka.bootstrap,
        "named",
        {"id": "BIGINT", "name": "STRING"},
        ["id"],
        {
            "expression": "TO_TIMESTAMP_LTZ(of_name(`name`), 3)",
            "functions": {"of_name": "tests.flink_jobs.event_times.of_name"},
        },
    )
    values: list[bytes | None] = [
        change("c", 1, {"id": 1, "name": "2013-01-01T10_a"}),
        change("r", 2, {"id": 2, "name": "2013-01-01T11_b"}),
    ]
    produce(stack.kafka.bootstrap, "named", values)
    with case.job():
        wait_until(lambda: case.count(case.pipeline.tables.cdc) >= 2, 180, "both rows are in the table")
    times = {row["id"]: row["_event_time"] for row in case.rows(case.pipeline.tables.cdc)}
    assert times == {1: dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC), 2: None}


def test_the_watermark_advances_and_plain_tools_see_it(stack: Stack, tmp_path: Path) -> None:
    columns = {"id": "BIGINT", "at": "BIGINT"}
    case = PipelineCase.create(
        tmp_path,
        stack.kafka.bootstrap,
        "advance",
        columns,
        ["id"],
        {"column": "at", "format": "epoch-millis"},
        finalization={"lookback-commits": 2},
    )
    start = int(dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC).timestamp() * 1000)

    def watermark() -> str | None:
        value: str | None = case.table(case.pipeline.tables.cdc).properties.get("finalization.watermark")
        return value

    def send(hour: int) -> None:
        count = case.count(case.pipeline.tables.cdc)
        ids = range(hour * 100, hour * 100 + 100)
        values = [change("c", i + 1, {"id": i, "at": start + hour * 3_600_000 + i}) for i in ids]
        produce(stack.kafka.bootstrap, "advance", values)
        wait_until(
            lambda: case.count(case.pipeline.tables.cdc) >= count + 100, 120, f"hour {hour} is committed"
        )

    with case.job():
        for hour in range(4):
            send(hour)
        expected = "2013-01-01T12:00:00Z"
        wait_until(lambda: watermark() == expected, 30, f"the watermark is {expected}")
        # A row of a final hour does not move it back, and is counted.
        late: list[bytes | None] = [change("c", 10_000, {"id": 10_000, "at": start})]
        produce(stack.kafka.bootstrap, "advance", late)
        wait_until(lambda: case.count(case.pipeline.tables.cdc) >= 401, 60, "the late row is committed")
        wait_until(lambda: _late(case) == 1, 30, "the late row is counted")
    assert watermark() == expected


def _late(case: PipelineCase) -> int:
    summaries: list[dict[str, Any]] = case.summaries(case.pipeline.tables.cdc)
    return sum(int(summary.get("finalization.late-records", 0)) for summary in summaries)
