"""A table without rows: finalized while the source shows that it is alive and read, held when it does not."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from finalization.catalog import open_catalog
from finalization.times import parse_instant
from flink_jobs.tables import ensure_tables
from local_stack.stack import Stack
from local_stack.waiting import wait_until
from tests.pipelines import PipelineCase, change, produce

pytestmark = pytest.mark.integration

HEARTBEATS = "__debezium-heartbeat.quiet"


def test_heartbeats_finalize_a_quiet_table_and_their_end_holds_it(stack: Stack, tmp_path: Path) -> None:
    stack.kafka.create_topic(HEARTBEATS)
    stack.kafka.create_topic("quiet")
    case = PipelineCase.create(
        tmp_path,
        stack.kafka.bootstrap,
        "quiet",
        {"id": "BIGINT", "at": "BIGINT"},
        ["id"],
        {"column": "at", "format": "epoch-millis"},
        kafka={"brokers": stack.kafka.bootstrap, "topics": ["quiet"], "heartbeat-topic": HEARTBEATS},
        finalization={"lookback-commits": 2, "granularity": "PT1S", "idle": "source-watermark"},
    )
    cdc = case.pipeline.tables.cdc
    ensure_tables(open_catalog(case.pipeline.catalog), case.pipeline)
    with case.table(cdc).transaction() as changed:
        changed.set_properties({"flink.max-continuous-empty-commits": "1"})
    start = int(time.time() * 1000)

    def watermark() -> int:
        text = case.table(cdc).properties.get("finalization.watermark")
        return parse_instant(text) if text else 0

    alive = threading.Event()
    heart = threading.Thread(target=_beat, args=(stack.kafka.bootstrap, alive), daemon=True)
    with case.job():
        produce(stack.kafka.bootstrap, "quiet", [change("c", 1, {"id": 1, "at": start - 3_600_000})])
        wait_until(lambda: case.count(cdc) >= 1, 120, "the only row is committed")
        heart.start()
        wait_until(lambda: watermark() > start, 120, "the source's progress finalizes the quiet time")
        alive.set()
        heart.join(30)
        end = int(time.time() * 1000)
        snapshots = len(case.summaries(cdc))
        wait_until(
            lambda: len(case.summaries(cdc)) >= snapshots + 15, 120, "many commits after the last beat"
        )
        assert watermark() <= end, "only the wall clock can have moved it"
        held = watermark()
        snapshots = len(case.summaries(cdc))
        wait_until(lambda: len(case.summaries(cdc)) >= snapshots + 5, 120, "more commits")
        assert watermark() == held
    assert case.count(cdc) == 1, "heartbeats are no rows"


def _beat(brokers: str, stop: threading.Event) -> None:
    """A heartbeat each half second, as Debezium sends them."""
    producer = Producer({"bootstrap.servers": brokers})
    while not stop.wait(0.5):
        now = int(time.time() * 1000)
        producer.produce(HEARTBEATS, value=json.dumps({"ts_ms": now}).encode(), timestamp=now)
        producer.flush(10)
