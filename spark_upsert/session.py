"""A Spark session that reads and writes one Iceberg catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from finalization.catalog_config import CatalogConfig
from finalization.jars import jar_set

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    # The base table is bucketed by key: with these only the batch is shuffled, never the base table.
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.sources.v2.bucketing.shuffle.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
}


def create_session(catalog: CatalogConfig, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Starts Spark, or takes the running session. `settings` win over everything set here.

    Without a `spark.master` in `settings`, Spark runs in this process with two cores, bound to the loopback
    address.

    Raises ConfigurationError if the jars are missing.
    """
    from pyspark.sql import SparkSession

    chosen = dict(settings or {})
    local = {} if "spark.master" in chosen else {"spark.master": "local[2]", **_LOCAL_SETTINGS}
    everything = {
        "spark.jars": ",".join(str(jar) for jar in jar_set("spark")),
        **_SETTINGS,
        **local,
        **catalog.spark_properties(),
        **chosen,
    }
    builder = SparkSession.builder.appName("finalization-upsert")
    for key, value in everything.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
