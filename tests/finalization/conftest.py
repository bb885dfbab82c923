"""A real SQL catalog in SQLite, one for each test that asks."""

import pytest
from hypothesis import HealthCheck, settings
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, StructType, TimestamptzType

from finalization.catalog import FinalizationClient, open_catalog
from finalization.catalog_config import CatalogConfig
from tests.finalization.lake import Lake

# A busy machine is no failure, and a run must not depend on luck.
settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "_event_time", TimestamptzType()),
    NestedField(
        3, "source", StructType(NestedField(4, "ts_ms", LongType()), NestedField(5, "db", StringType()))
    ),
)


@pytest.fixture
def lake(tmp_path) -> Lake:
    config = CatalogConfig("ice", "sql", f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse")
    catalog = open_catalog(config)
    catalog.create_namespace("lake")
    return Lake(config, FinalizationClient(catalog), SCHEMA)
