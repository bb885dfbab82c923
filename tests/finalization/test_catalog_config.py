import pytest

from finalization.catalog_config import CatalogConfig
from finalization.exceptions import ConfigurationError

SQLITE = CatalogConfig("ice", "sql", "sqlite:////d/c.db", "file:///d/wh", {"k": "v"})


def test_a_sqlite_catalog_is_told_to_three_engines():
    assert SQLITE.pyiceberg_properties() == {
        "type": "sql",
        "uri": "sqlite:////d/c.db?timeout=30",
        "warehouse": "file:///d/wh",
        "k": "v",
    }
    jdbc = "jdbc:sqlite:/d/c.db?busy_timeout=30000&journal_mode=WAL"
    assert SQLITE.flink_properties() == {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": jdbc,
        "jdbc.schema-version": "V1",
        "warehouse": "file:///d/wh",
        "k": "v",
    }
    spark = SQLITE.spark_properties()
    assert spark["spark.sql.catalog.ice"] == "org.apache.iceberg.spark.SparkCatalog"
    assert spark["spark.sql.catalog.ice.uri"] == jdbc
    assert spark["spark.sql.catalog.ice.cache-enabled"] == "false"


def test_a_postgresql_catalog_hands_its_login_over_in_jdbc_form():
    config = CatalogConfig("ice", "sql", "postgresql+psycopg2://me:p%40ss@db:5433/lake", "s3://wh")
    assert config.flink_properties() == {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": "jdbc:postgresql://db:5433/lake",
        "jdbc.schema-version": "V1",
        "jdbc.user": "me",
        "jdbc.password": "p@ss",
        "warehouse": "s3://wh",
    }
    assert "p%40ss" not in repr(config)


def test_a_rest_catalog_is_told_to_three_engines():
    config = CatalogConfig("ice", "rest", "http://catalog:8181", "s3://wh")
    assert config.pyiceberg_properties()["type"] == "rest"
    assert config.flink_properties()["catalog-type"] == "rest"
    assert config.spark_properties()["spark.sql.catalog.ice.type"] == "rest"


def test_an_unknown_database_is_refused():
    with pytest.raises(ConfigurationError, match=r"catalog\.uri"):
        CatalogConfig("ice", "sql", "oracle://x").flink_properties()
