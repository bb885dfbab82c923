"""One Spark session for all tests of the upsert, and CDC tables with changes of one's choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from finalization.catalog_config import CatalogConfig
from tests.spark_upsert.cdc_table import CdcTable, new_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> CatalogConfig:
    folder = tmp_path_factory.mktemp("upsert")
    return CatalogConfig("ice", "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")


@pytest.fixture(scope="session")
def spark(catalog: CatalogConfig) -> Iterator[SparkSession]:
    from spark_upsert.session import create_session

    session = create_session(catalog, {"spark.sql.shuffle.partitions": "2"})
    session.sql("CREATE NAMESPACE IF NOT EXISTS ice.lake")
    yield session
    session.stop()


@pytest.fixture
def cdc(spark: SparkSession, catalog: CatalogConfig) -> CdcTable:
    return CdcTable(spark, catalog, new_name())
