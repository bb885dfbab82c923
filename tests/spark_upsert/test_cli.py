"""The command line on real tables, in this process and its Spark session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from finalization.catalog_config import CatalogConfig
from finalization.cli.app import create_app
from tests.spark_upsert.cdc_table import CdcTable, pipeline_file

pytestmark = pytest.mark.integration

NINE, TEN = "2013-01-01T09:00:00Z", "2013-01-01T10:00:00Z"


class KeptSession:
    """The tests' session, which a command does not end."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def stop(self) -> None:
        pass


@pytest.fixture
def run(cdc: CdcTable, catalog: CatalogConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a subcommand with the pipeline file of `cdc`."""
    monkeypatch.setattr("spark_upsert.session.create_session", lambda *_: KeptSession(cdc.spark))
    file = str(pipeline_file(cdc, catalog, tmp_path))

    def run(command: str, *options: str) -> Result:
        result = CliRunner().invoke(create_app(), [command, file, *options], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return run


def test_upserts_in_steps_after_a_dry_run_and_a_rebuild(cdc: CdcTable, run) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    run("upsert")
    cdc.changes(("u", 2, 1, "a2", 2))
    cdc.changes(("c", 3, 2, "b", 1))
    cdc.changes(("c", 4, 3, "c", 1), watermark=TEN)

    dry = run("upsert", "--dry-run").stdout
    assert f"{cdc.job.base}: would read 3 changes of 3 snapshots, watermark {NINE} → {TEN}" in dry
    assert cdc.rows() == [(1, "a", 1)]
    steps = run("upsert", "--max-snapshots", "2").stdout.splitlines()
    assert [line.split(": ", 1)[1].rpartition(" (")[0] for line in steps] == [
        f"2 changes of 2 snapshots, 1 snapshots left, watermark {NINE}",
        f"1 changes of 1 snapshots, watermark {NINE} → {TEN}",
    ]
    rows = [(1, "a2", 2), (2, "b", 1), (3, "c", 1)]
    assert cdc.rows() == rows
    cdc.sql("DELETE FROM {base}")
    assert f"watermark {TEN}" in run("upsert", "--full").stdout
    assert cdc.rows() == rows


def test_status_tells_how_far_the_base_table_is_behind_between_upserts(
    cdc: CdcTable, run, tmp_path: Path
) -> None:
    def behind() -> dict[str, Any]:
        arguments = ["status", cdc.job.base, "--pipeline", str(tmp_path / "pipeline.yaml"), "--json"]
        [row] = json.loads(CliRunner().invoke(create_app(), arguments).stdout)
        return dict(row["behind"])

    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    run("upsert")
    assert behind() == {"table": cdc.job.cdc, "snapshots": 0, "waiting_ms": 0, "watermark_ms": 0}
    cdc.changes(("u", 2, 1, "a2", 2))
    cdc.changes(("u", 3, 1, "a3", 3), watermark=TEN)

    late = behind()
    assert (late["snapshots"], late["watermark_ms"]) == (2, 3_600_000)
    assert late["waiting_ms"] > 0
    run("upsert")
    assert behind()["snapshots"] == behind()["watermark_ms"] == 0


def test_maintenance_leaves_rows_and_the_way_on_for_the_next_upsert(cdc: CdcTable, run) -> None:
    for lsn in (1, 2, 3):
        cdc.changes(("c", lsn, lsn, "a", lsn), ("u", lsn + 10, 1, "b", lsn))
        run("upsert")
    cdc.changes(("u", 20, 2, "new", 2))
    before = cdc.rows()
    assert cdc.sql("SELECT count(*) FROM {base}.delete_files")[0][0] > 0

    said = run("maintain", "--keep", "0s").stdout

    assert f"{cdc.job.base}: " in said
    assert "snapshots expired; " + cdc.job.cdc in said
    assert cdc.rows() == before
    assert cdc.sql("SELECT count(*) FROM {base}.delete_files")[0][0] == 0
    assert len(cdc.base().snapshots()) == 1
    assert list(cdc.base().refs()) == ["main"]
    run("upsert")
    assert cdc.rows() == [(1, "b", 3), (2, "new", 2), (3, "a", 3)]
