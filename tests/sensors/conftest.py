"""Tests of the Airflow provider. They run in Airflow's own environment and are left out elsewhere."""

import os
import tempfile
from importlib.util import find_spec

import pytest

if find_spec("airflow") is None:
    collect_ignore_glob = ["*"]
else:
    # Before the first import of Airflow, which reads them.
    os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-home-")
    os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "false"
    os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "true"

from tests.sensors.lake import CONNECTION, SensorLake


@pytest.fixture(scope="session", autouse=True)
def airflow_home():
    """Takes the folder away again."""
    from shutil import rmtree

    yield
    rmtree(os.environ["AIRFLOW_HOME"], ignore_errors=True)


@pytest.fixture
def lake(tmp_path, monkeypatch) -> SensorLake:
    """A SQL catalog of its own, which the connection `ice` leads to."""
    lake = SensorLake(tmp_path)
    monkeypatch.setenv(f"AIRFLOW_CONN_{CONNECTION.upper()}", lake.connection)
    return lake
