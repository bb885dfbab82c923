"""A pipeline on a running Flink cluster, whose TaskManager dies."""

from __future__ import annotations

import datetime as dt
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local_stack.flink_cluster import FlinkCluster
from local_stack.stack import Stack
from local_stack.waiting import wait_until
from tests.pipelines import FINALIZATION, PipelineCase, change, produce

pytestmark = [pytest.mark.integration, pytest.mark.faults]

START = int(dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC).timestamp() * 1000)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FlinkCluster]:
    running = FlinkCluster(tmp_path / "flink")
    try:
        yield running.start()
    finally:
        running.stop()


def test_a_job_on_a_cluster_survives_its_task_manager(
    stack: Stack, tmp_path: Path, cluster: FlinkCluster
) -> None:
    case = PipelineCase.create(
        tmp_path / "pipeline",
        stack.kafka.bootstrap,
        "clustered",
        {"id": "BIGINT", "at": "BIGINT"},
        ["id"],
        {"column": "at", "format": "epoch-millis"},
        finalization={"lookback-commits": 1},
        parallelism=2,
    )
    cdc = case.pipeline.tables.cdc

    def send(hour: int) -> None:
        ids = range(hour * 100, hour * 100 + 100)
        rows: list[bytes | None] = [
            change("c", i + 1, {"id": i, "at": START + hour * 3_600_000}) for i in ids
        ]
        produce(stack.kafka.bootstrap, "clustered", rows)

    stack.kafka.create_topic("clustered", partitions=2)
    command = [FINALIZATION, "run", case.file, "--cluster", cluster.address]
    submitted = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr
    assert f"Flink's page http://{cluster.address}" in submitted.stdout
    assert set(cluster.jobs().values()) <= {"RUNNING", "CREATED"}
    send(0)
    wait_until(lambda: case.count(cdc) >= 100, 120, "the first hour is committed")
    assert cluster.task_manager is not None
    workers = _workers(cluster.task_manager.pid)
    assert workers, "finalization's worker runs beside the committer"
    cluster.task_manager.kill()
    wait_until(lambda: not any(map(psutil.pid_exists, workers)), 30, "the killed TaskManager's worker ends")
    cluster.start_task_manager()
    send(1)
    wait_until(lambda: case.count(cdc) >= 200, 180, "the second hour is committed")
    wait_until(
        lambda: case.table(cdc).properties.get("finalization.watermark") == "2013-01-01T11:00:00Z",
        60,
        "the watermark follows",
    )
    ids = Counter(row["id"] for row in case.rows(cdc))
    assert len(ids) == 200
    assert set(ids.values()) == {1}


def _workers(task_manager: int) -> list[int]:
    children = psutil.Process(task_manager).children(recursive=True)
    return [child.pid for child in children if "sink_extensions.worker" in child.cmdline()]
