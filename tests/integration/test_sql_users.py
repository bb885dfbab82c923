"""Plain SQL with the extensible catalog: facts and watermark, seen by Flink, Spark and pyiceberg alike."""

from __future__ import annotations

import pytest

from finalization.catalog import open_catalog
from finalization.catalog_config import CatalogConfig
from flink_jobs.environment import create_environment
from spark_upsert.session import create_session

pytestmark = pytest.mark.integration

SUMMARY_KEYS = {
    "accumulator.event-time.count",
    "accumulator.event-time.nulls",
    "accumulator.event-time.rejected",
    "accumulator.event-time.min-ms",
    "accumulator.event-time.max-ms",
    "accumulator.event-time.digest",
    "accumulator.event-time.partitions",
    "finalization.late-records",
}
WATERMARK = "2013-01-01T10:00:00Z"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> CatalogConfig:
    """A catalog with a table that one bounded INSERT filled: 20 rows, one of them without a time."""
    folder = tmp_path_factory.mktemp("sql")
    config = CatalogConfig("tools", "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")
    environment = create_environment(
        {
            "execution.checkpointing.interval": "1 s",
            "rest.bind-address": "127.0.0.1",
            "parallelism.default": "2",
        }
    )
    options = {"type": "iceberg-extensible", **config.flink_properties()}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    environment.execute_sql(f"CREATE CATALOG tools WITH ({listed})")
    environment.execute_sql("CREATE DATABASE tools.lake")
    environment.execute_sql(
        "CREATE TABLE tools.lake.clicks (id BIGINT, clicked_at TIMESTAMP(6)) WITH ('format-version' = '2', "
        "'finalization.event-time-column' = 'clicked_at', 'finalization.lookback-commits' = '1')"
    )
    rows = ", ".join(f"({i}, TIMESTAMP '2013-01-01 10:{i:02d}:00')" for i in range(19))
    environment.execute_sql(
        f"INSERT INTO tools.lake.clicks SELECT * FROM (VALUES {rows}, (99, CAST(NULL AS TIMESTAMP(6))))"
    ).wait()
    flink_rows = environment.execute_sql("SELECT summary FROM tools.lake.`clicks$snapshots`").collect()
    summaries: list[dict[str, str]] = [row[0] for row in flink_rows]
    assert set(summaries[-1]) >= SUMMARY_KEYS, "Flink SQL reads the facts in the snapshots table"
    shown = next(iter(environment.execute_sql("SHOW CREATE TABLE tools.lake.clicks").collect()))[0]
    assert f"'finalization.watermark' = '{WATERMARK}'" in shown, "Flink SQL shows the watermark"
    return config


def test_pyiceberg_reads_facts_and_watermark(catalog: CatalogConfig) -> None:
    table = open_catalog(catalog).load_table("lake.clicks")
    assert table.properties["finalization.watermark"] == WATERMARK
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    summary = snapshot.summary.additional_properties
    assert set(summary) >= SUMMARY_KEYS
    assert (summary["accumulator.event-time.count"], summary["accumulator.event-time.nulls"]) == ("19", "1")
    assert summary["accumulator.event-time.partitions"] == "hour|376954:19|0"


def test_spark_reads_facts_and_watermark(catalog: CatalogConfig) -> None:
    spark = create_session(catalog)
    shown = dict(spark.sql("SHOW TBLPROPERTIES tools.lake.clicks").collect())
    assert shown["finalization.watermark"] == WATERMARK
    summary = spark.sql("SELECT summary FROM tools.lake.clicks.snapshots").collect()[-1][0]
    assert set(summary) >= SUMMARY_KEYS


def test_every_row_is_there_once(catalog: CatalogConfig) -> None:
    assert open_catalog(catalog).load_table("lake.clicks").scan().to_arrow().num_rows == 20
