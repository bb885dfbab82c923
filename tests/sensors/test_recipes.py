"""The recipes of docs/waiting.md that say that they are run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sensors.lake import SensorLake

DOCUMENT = Path(__file__).parents[2] / "docs" / "waiting.md"
DEADLINE_S = 120


def recipe(name: str) -> str:
    """The code block after its marker."""
    text = DOCUMENT.read_text().split(f"<!-- recipe: {name} -->")[1]
    return text.split("```")[1].partition("\n")[2]


@pytest.fixture
def pipeline(lake: SensorLake, tmp_path) -> Path:
    path = tmp_path / "flights.yaml"
    path.write_text(
        f"""
name: flights
kafka: {{brokers: "127.0.0.1:9092", topics: [flights]}}
format: debezium-json
columns: {{id: BIGINT, scheduled: TIMESTAMP(6)}}
primary-key: [id]
event-time: {{column: scheduled}}
tables: {{cdc: lake.flights_cdc, base: lake.flights}}
catalog:
  name: {lake.config.name}
  type: sql
  uri: {lake.config.uri}
  warehouse: {lake.config.warehouse}
checkpoint: {{interval: 10s, directory: "file://{tmp_path}/checkpoints"}}
"""
    )
    return path


@pytest.mark.parametrize(("watermark", "code"), [("2013-01-01T10:00:00Z", 0), ("2013-01-01T09:00:00Z", 3)])
def test_the_cron_recipe_runs_its_job_only_when_the_hour_is_final(lake, pipeline, watermark, code):
    lake.create(watermark=watermark)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", recipe("cron")],
        env={
            **os.environ,
            "PATH": path,
            "PIPELINE": str(pipeline),
            "END": "2013-01-01T10:00Z",
            "TIMEOUT": "1s",
        },
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == code, done.stderr
    assert ("the hour before 2013-01-01T10:00Z is final" in done.stdout) == (code == 0)


def test_the_python_recipe_knows_what_is_final(lake, pipeline):
    lake.create(watermark="2013-01-01T10:00:00Z")
    names = {"PIPELINE": pipeline}
    exec(recipe("python"), names)
    assert names["final"] is True
