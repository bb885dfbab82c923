"""Tests of the Airflow provider. They run in Airflow's own environment and are left out elsewhere."""

import atexit
import os
import shutil
import tempfile
from importlib.util import find_spec

import pytest

if find_spec("airflow") is None:
    collect_ignore_glob = ["*"]
else:
    # Before the first import of Airflow, which reads them.
    os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-home-")
    atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
    os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "false"
    os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "true"

from tests.sensors.lake import CONNECTION, SensorLake


@pytest.fixture
def lake(tmp_path, monkeypatch) -> SensorLake:
    """A SQL catalog of its own, which the connection `ice` leads to."""
    lake = SensorLake(tmp_path)
    monkeypatch.setenv(f"AIRFLOW_CONN_{CONNECTION.upper()}", lake.connection)
    return lake
