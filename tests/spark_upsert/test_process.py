"""The upsert as a process: killed without warning, and told to stop."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from finalization.catalog_config import CatalogConfig
from local_stack.waiting import wait_until
from tests.spark_upsert.cdc_table import CdcTable, pipeline_file

pytestmark = [pytest.mark.integration, pytest.mark.faults]

ROOT = Path(__file__).parents[2]
NINE, TEN = "2013-01-01T09:00:00Z", "2013-01-01T10:00:00Z"


@contextmanager
def process(log: Path, *command: str) -> Iterator[subprocess.Popen]:
    """A process in a group of its own, of which nothing is left at the end."""
    with log.open("w") as output:
        child = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, start_new_session=True)
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


@pytest.mark.parametrize("step", ["opened", "claimed", "merged", "published"])
def test_a_killed_upsert_leaves_the_base_table_untouched_or_complete_and_a_rerun_applies_once(
    cdc: CdcTable, catalog: CatalogConfig, tmp_path: Path, step: str
) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    cdc.upsert()
    cdc.changes(("u", 2, 1, "a2", 2), ("c", 3, 2, "b", 1), watermark=TEN)
    log = tmp_path / "log"
    arguments = (json.dumps(asdict(catalog)), json.dumps(asdict(cdc.job)), step)

    with process(log, sys.executable, "-m", "tests.spark_upsert.killed_upsert", *arguments) as child:
        assert child.wait(timeout=180) == -signal.SIGKILL, log.read_text()

    complete = step == "published"
    after = [(1, "a2", 2), (2, "b", 1)]
    assert cdc.rows() == (after if complete else [(1, "a", 1)])
    assert cdc.properties()["finalization.watermark"] == (TEN if complete else NINE)
    assert cdc.upsert().outcome == ("nothing-new" if complete else "published")
    assert cdc.rows() == after
    assert cdc.properties()["finalization.watermark"] == TEN


def test_the_loop_follows_the_log_and_ends_in_peace_when_told_to(
    cdc: CdcTable, catalog: CatalogConfig, tmp_path: Path
) -> None:
    file = pipeline_file(cdc, catalog, tmp_path)
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    log = tmp_path / "log"

    def holds(watermark: str) -> bool:
        exists = cdc.catalog.table_exists(cdc.job.base)
        return exists and cdc.properties().get("finalization.watermark") == watermark

    command = (sys.executable, "-m", "finalization.cli.app", "upsert", str(file), "--every", "1s")
    with process(log, *command) as child:
        wait_until(lambda: holds(NINE) or child.poll(), 180, "the first rows are in the base table")
        cdc.changes(("u", 2, 1, "a2", 2), watermark=TEN)
        wait_until(lambda: holds(TEN) or child.poll(), 60, "the next rows are in the base table")
        child.terminate()
        assert child.wait(timeout=60) == 0, log.read_text()

    assert cdc.rows() == [(1, "a2", 2)]
    assert f"{cdc.job.base}: 1 changes of 1 snapshots, watermark {NINE} → {TEN}" in log.read_text()
