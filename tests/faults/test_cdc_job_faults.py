"""The CDC job killed in mid-stream: exact counts, and a watermark that never goes back."""

from __future__ import annotations

import datetime as dt
import threading
from collections import Counter
from pathlib import Path

import pytest

from local_stack.stack import Stack
from local_stack.waiting import wait_until
from tests.pipelines import PipelineCase, change, produce

pytestmark = [pytest.mark.integration, pytest.mark.faults]

START = int(dt.datetime(2013, 1, 1, tzinfo=dt.UTC).timestamp() * 1000)
BATCHES = 60
BATCH_ROWS = 500


def test_kill_9_in_mid_stream_loses_and_repeats_nothing(stack: Stack, tmp_path: Path) -> None:
    case = PipelineCase.create(
        tmp_path,
        stack.kafka.bootstrap,
        "killed",
        {"id": "BIGINT", "at": "BIGINT"},
        ["id"],
        {"column": "at", "format": "epoch-millis"},
        finalization={"lookback-commits": 2},
        checkpoint={"interval": "500ms", "directory": f"file://{tmp_path}/checkpoints"},
    )
    cdc = case.pipeline.tables.cdc
    watermarks: list[str] = []
    stop = threading.Event()
    sender = threading.Thread(target=_send, args=(stack.kafka.bootstrap, stop), daemon=True)

    def committed(rows: int) -> bool:
        if case.count(cdc) > 0:
            watermarks.append(case.table(cdc).properties.get("finalization.watermark", ""))
        return case.count(cdc) >= rows

    job = case.job().start()
    try:
        sender.start()
        for kills, rows in enumerate((2_000, 12_000), start=1):
            wait_until(
                lambda rows=rows: committed(rows), 120, f"{rows} rows are committed before kill {kills}"
            )
            job.kill()
            job = case.job().start()
        wait_until(lambda: committed(BATCHES * BATCH_ROWS), 180, "every row is committed")
    finally:
        stop.set()
        job.stop()
    ids = Counter(row["id"] for row in case.rows(cdc))
    assert len(ids) == BATCHES * BATCH_ROWS
    assert set(ids.values()) == {1}
    assert watermarks == sorted(watermarks), "the watermark went back"
    assert watermarks[-1] > ""
    counted = sum(int(summary["accumulator.event-time.count"]) for summary in case.summaries(cdc))
    assert counted == BATCHES * BATCH_ROWS


def _send(brokers: str, stop: threading.Event) -> None:
    """A batch for each quarter of an hour, one after the other, as a live source would send them."""
    for batch in range(BATCHES):
        ids = range(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
        produce(
            brokers, "killed", [change("c", i + 1, {"id": i, "at": START + batch * 900_000 + i}) for i in ids]
        )
        if stop.wait(0.3):
            return
