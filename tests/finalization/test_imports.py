"""Arrows point one way: nothing here may know engines, and one module alone the catalog's library."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "finalization"
MODULES = sorted(PACKAGE.rglob("*.py"))
FORBIDDEN = {
    "pyflink",
    "pyspark",
    "airflow",
    "py4j",
    "flink_jobs",
    "sink_extensions",
    "spark_upsert",
    "sensors",
}


def imports_of(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_module_imports_an_engine_or_an_outer_part(file):
    assert not {name.split(".")[0] for name in imports_of(file)} & FORBIDDEN


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_pyiceberg_is_known_to_the_catalog_module_only(file):
    if file.name != "catalog.py":
        assert not [name for name in imports_of(file) if name.split(".")[0] == "pyiceberg"]


def test_the_domain_does_not_know_the_command_line():
    for file in MODULES:
        if "cli" not in file.parts:
            assert not [name for name in imports_of(file) if name.startswith("finalization.cli")], file
