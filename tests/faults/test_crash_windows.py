"""Every window in which a commit can be cut off: rows and facts are there once, the watermark is right."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from pathlib import Path

import psutil
import pytest

from local_stack.stack import Stack
from local_stack.waiting import wait_until
from tests.faults.crashing import MARKER_VARIABLE
from tests.pipelines import PipelineCase, change, produce

pytestmark = [pytest.mark.integration, pytest.mark.faults]

START = int(dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC).timestamp() * 1000)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def case(
    stack: Stack, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> PipelineCase:
    """A pipeline whose table has the crashing processor that the test names, after finalization's own."""
    name = f"crash_{request.param.lower()}"
    case = PipelineCase.create(
        tmp_path,
        stack.kafka.bootstrap,
        name,
        {"id": "BIGINT", "at": "BIGINT"},
        ["id"],
        {"column": "at", "format": "epoch-millis"},
        finalization={"lookback-commits": 1},
    )
    monkeypatch.setenv(MARKER_VARIABLE, str(tmp_path / "crashed"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    from finalization.catalog import open_catalog
    from flink_jobs.tables import ensure_tables

    ensure_tables(open_catalog(case.pipeline.catalog), case.pipeline)
    with case.table(case.pipeline.tables.cdc).transaction() as change_properties:
        change_properties.set_properties(
            {
                # Before finalization's own processor: the watermark is not written when the job is cut off.
                "sink.commit-processors": f"python:tests.faults.crashing:{request.param}",
            }
        )
    rows: list[bytes | None] = [change("c", i + 1, {"id": i, "at": START + i * 100_000}) for i in range(100)]
    produce(stack.kafka.bootstrap, name, rows)
    return case


def _watermark(case: PipelineCase) -> str:
    """Where W is with a lookback of one commit. How rows are spread over commits is Kafka's business."""
    summaries = case.summaries(case.pipeline.tables.cdc)
    oldest = [int(summary.get("accumulator.event-time.min-ms", 0)) for summary in summaries]
    hour = dt.datetime.fromtimestamp(max(oldest) // 3_600_000 * 3600, dt.UTC)
    return hour.strftime("%Y-%m-%dT%H:%M:%SZ")


def _finish(case: PipelineCase, settings: tuple[str, ...] = ()) -> None:
    """Run the job until every row is committed and the watermark stands where it must."""
    cdc = case.pipeline.tables.cdc
    with case.job(*settings):
        wait_until(lambda: case.count(cdc) >= 100, 120, "every row is committed")
        wait_until(
            lambda: case.table(cdc).properties.get("finalization.watermark") == _watermark(case),
            60,
            "the watermark is where the rows put it",
        )
    ids = Counter(row["id"] for row in case.rows(cdc))
    assert len(ids) == 100
    assert set(ids.values()) == {1}
    summaries = case.summaries(cdc)
    assert sum(int(summary["accumulator.event-time.count"]) for summary in summaries) == 100
    assert (case.directory / "crashed").exists(), "the crash that this test is about did not happen"


@pytest.mark.parametrize("case", ["KillBeforeCommit", "KillAfterCommit"], indirect=True)
def test_the_job_is_killed_around_its_commit(case: PipelineCase) -> None:
    job = case.job().start()
    try:
        wait_until(lambda: (case.directory / "crashed").exists(), 120, "the job is killed")
        job.wait(60)
    finally:
        job.kill()
    cdc = case.pipeline.tables.cdc
    assert (case.count(cdc) > 0) == ("killaftercommit" in cdc)
    assert "finalization.watermark" not in case.table(cdc).properties
    _finish(case)


@pytest.mark.parametrize("case", ["RaiseBeforeCommit", "DieBeforeCommit"], indirect=True)
def test_the_worker_raises_or_dies_and_the_commit_is_tried_again(case: PipelineCase) -> None:
    _finish(case)
    assert not _workers(case), "a worker was left behind"


@pytest.mark.parametrize("case", ["HangBeforeCommit"], indirect=True)
def test_a_hanging_worker_is_ended_at_its_deadline(case: PipelineCase) -> None:
    _finish(case, ("--flink", "sink.python.timeout=PT5S"))
    assert "did not answer within PT5S" in _flink_log(case)
    assert not _workers(case), "a worker was left behind"


def _workers(case: PipelineCase) -> list[int]:
    """Python workers of this test's job that still run: they inherited its marker."""
    found = []
    for process in psutil.process_iter():
        try:
            if "sink_extensions.worker" in process.cmdline() and (
                process.environ().get(MARKER_VARIABLE) == str(case.directory / "crashed")
            ):
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def _flink_log(case: PipelineCase) -> str:
    return (case.directory / "log" / "job.log").read_text(errors="replace")
