"""Every example of docs/extending.md, on a real Flink and a real Iceberg table."""

from __future__ import annotations

import pytest

from examples.extending import data_stream
from examples.extending.__main__ import EXAMPLES, run
from examples.extending.shop import Shop
from flink_jobs.environment import create_stream_environment
from local_stack.waiting import wait_until
from sink_extensions import sql

pytestmark = pytest.mark.integration

REVENUE = {"accumulator.revenue.cents": "2000"}
CUSTOMERS = {
    "accumulator.field-stats.customer.count": "2",
    "accumulator.field-stats.customer.nulls": "1",
    "accumulator.field-stats.customer.min": "ann",
    "accumulator.field-stats.customer.max": "bob",
}
CENTS = {
    "accumulator.field-stats.cents.count": "3",
    "accumulator.field-stats.cents.nulls": "0",
    "accumulator.field-stats.cents.min": "500",
    "accumulator.field-stats.cents.max": "800",
}
TIMES = {
    "accumulator.field-stats.ordered_at.count": "3",
    "accumulator.field-stats.ordered_at.nulls": "0",
    "accumulator.field-stats.ordered_at.min": "2013-01-01T10:00:00Z",
    "accumulator.field-stats.ordered_at.max": "2013-01-01T10:40:00Z",
}
GATE = {"revenue-gate.passed-at-least": "0"}
EVENT_TIMES = {
    "accumulator.event-time.count": "3",
    "accumulator.event-time.min-ms": "1357034400000",
    "accumulator.event-time.max-ms": "1357036800000",
    "finalization.late-records": "0",
}
NO_CUSTOMERS = {
    "accumulator.field-stats.customer.count": "0",
    "accumulator.field-stats.customer.nulls": "3",
}
WATERMARK = "2013-01-01T10:00:00Z"
OURS = ("accumulator.", "audit.", "revenue-gate.")

# All that an example leaves in the snapshot of its orders.
EXPECTED = {
    "sql-properties": {**REVENUE, **CUSTOMERS, **TIMES, **GATE},
    "sql-hints": {**REVENUE, **GATE, "audit.facts": "revenue"},
    "field-stats": {**CENTS, **TIMES},
    "event-time-reader": EVENT_TIMES,
    "table-api": {**REVENUE, **CUSTOMERS, **TIMES, "audit.facts": "field-stats,revenue"},
    "statement-set": {"audit.facts": ""},
    "data-stream": {**NO_CUSTOMERS, **CENTS, "audit.facts": "field-stats"},
    "watermarks": TIMES,
    "java-data-stream": {"accumulator.revenue.cents": "1200", "audit.facts": "revenue"},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_leaves_its_facts_in_the_table(
    shop: Shop, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shop, name)
    table = shop.table()
    assert len(table.metadata.snapshots) == 1
    summary = shop.summary()
    if name != "event-time-reader":  # whose digest is a text of its own
        assert {key: summary[key] for key in summary if key.startswith(OURS)} == EXPECTED[name]
    assert EXPECTED[name].items() <= summary.items()
    printed = capsys.readouterr().out
    assert all(f"snapshot  {key} = {value}\n" in printed for key, value in EXPECTED[name].items())
    audited = table.properties.get("audit.last-snapshot")
    assert audited == (str(table.metadata.current_snapshot_id) if "audit.facts" in EXPECTED[name] else None)
    assert ("finalization.watermark", WATERMARK) in table.properties.items() or name != "event-time-reader"
    assert table.scan().to_arrow().num_rows == (2 if name == "java-data-stream" else 3)
    if name == "statement-set":  # whose second table has an extension of its own
        assert (
            shop.summary("shop.refunds").items()
            >= {**REVENUE, "flink.job-id": summary["flink.job-id"]}.items()
        )
        assert "audit.last-snapshot" not in shop.table("shop.refunds").properties


def test_the_watermarks_of_a_stream_reach_the_sink(shop: Shop) -> None:
    shop.t_env.execute_sql(
        "ALTER TABLE ice.shop.orders SET ('finalization.event-time-column' = 'ordered_at')"
    )
    env, t_env = create_stream_environment(
        {
            "execution.checkpointing.interval": "300 ms",
            "parallelism.default": "1",
            "rest.bind-address": "127.0.0.1",
        }
    )
    options = {"type": "iceberg-extensible", **shop.catalog.flink_properties()}
    t_env.execute_sql(f"CREATE CATALOG ice WITH ({sql.options(options)})")
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE endless (id BIGINT, cents BIGINT, ordered_ms BIGINT) WITH ("
        "'connector' = 'datagen', 'rows-per-second' = '100', "
        "'fields.ordered_ms.min' = '1357034400000', 'fields.ordered_ms.max' = '1357036800000')"
    )
    data_stream.append_with_watermarks(t_env, t_env.to_data_stream(t_env.from_path("endless")))
    job = env.execute_async()
    try:
        key = "accumulator.event-time.source-watermark-ms"
        watermark = wait_until(lambda: shop.summary().get(key), 120, "a commit with the source's watermark")
    finally:
        job.cancel().result()
    assert 1357034400000 <= int(watermark) <= 1357036800000


def test_a_commit_that_the_gate_refuses_is_not_written(shop: Shop) -> None:
    shop.t_env.execute_sql("ALTER TABLE ice.shop.orders SET ('sink.revenue-gate.least-cents' = '2001')")
    with pytest.raises(
        Exception, match=r"revenue of 2000 cents is below sink\.revenue-gate\.least-cents 2001"
    ):
        EXAMPLES["sql-properties"](shop)
    assert shop.table().current_snapshot() is None
