"""The package as Airflow finds it."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import airflow
from airflow.providers.apache.iceberg.hooks.iceberg import IcebergHook
from airflow.providers_manager import ProvidersManager
from jsonschema import validate

from airflow_provider_iceberg_finalization.connection import DEFAULT_CONNECTION

NAME = "airflow-provider-iceberg-finalization"


def info() -> dict:
    (entry,) = (
        entry
        for entry in entry_points(group="apache_airflow_provider")
        if entry.module.startswith("airflow_provider_iceberg_finalization")
    )
    return entry.load()()


def test_the_providers_manager_knows_it():
    assert NAME in ProvidersManager().providers


def test_its_description_has_the_form_airflow_asks_for():
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    validate(info(), schema)


def test_a_dag_is_read_without_loading_a_catalog_library():
    code = (
        "import sys\n"
        "import airflow_provider_iceberg_finalization.sensors.finalization\n"
        "import airflow_provider_iceberg_finalization.triggers.partitions\n"
        "import airflow_provider_iceberg_finalization.triggers.late_data\n"
        "print([name for name in ('pyiceberg', 'pyspark', 'pyflink', 'py4j') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_default_connection_is_the_iceberg_providers():
    assert IcebergHook.default_conn_name == DEFAULT_CONNECTION


def test_every_module_it_names_is_there():
    modules = [
        module
        for kind in ("sensors", "triggers")
        for integration in info()[kind]
        for module in integration["python-modules"]
    ]
    assert len(modules) == 4
    for module in modules:
        import_module(module)
