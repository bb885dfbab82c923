"""A real SQL catalog in SQLite, one for each test that asks."""

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, StructType, TimestamptzType

from finalization.catalog import FinalizationClient, open_catalog
from finalization.catalog_config import CatalogConfig
from tests.finalization.lake import Lake

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
