"""A shop's tables in a folder, and a Flink session that has the example extensions."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finalization.catalog import open_catalog
from finalization.catalog_config import CatalogConfig
from finalization.jars import jar_set
from finalization.times import to_millis
from flink_jobs.environment import create_stream_environment, pipeline_jars
from sink_extensions import sql
from sink_extensions.jars import jar_path

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment
    from pyflink.table import Table as FlinkTable
    from pyiceberg.table import Table

HERE = Path(__file__).parent
TABLES = ("ice.shop.orders", "ice.shop.refunds")

# Ids of Snowflake's kind: 10:00, 10:20 and 10:40 of 2013-01-01 are in them.
IDS = (286049122513846272, 286054155678646272, 286059188843446272)
CUSTOMERS = ("ann", "bob", None)
CENTS = (500, 700, 800)
TIMES = tuple(dt.datetime(2013, 1, 1, 10, minute, tzinfo=dt.UTC) for minute in (0, 20, 40))


@dataclass(frozen=True)
class Shop:
    """An open session with the catalog `ice`."""

    env: StreamExecutionEnvironment
    t_env: StreamTableEnvironment
    catalog: CatalogConfig
    jar: Path

    @classmethod
    def open(cls, folder: Path) -> Shop:
        """Compile the Java examples and start a session; everything is kept in the folder."""
        jar = compile_java(folder / "java")
        env, t_env = create_stream_environment(
            {
                "pipeline.jars": pipeline_jars(jar),
                "parallelism.default": "1",
                "rest.bind-address": "127.0.0.1",
            }
        )
        catalog = CatalogConfig("ice", "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")
        options = {"type": "iceberg-extensible", **catalog.flink_properties()}
        t_env.execute_sql(f"CREATE CATALOG ice WITH ({sql.options(options)})")
        t_env.execute_sql("CREATE DATABASE ice.shop")
        shop = cls(env, t_env, catalog, jar)
        t_env.create_temporary_view("incoming", t_env.from_data_stream(shop.stream()))
        return shop

    def make_tables(self) -> None:
        """Make the tables anew, without rows and properties."""
        for table in TABLES:
            self.t_env.execute_sql(f"DROP TABLE IF EXISTS {table}")
            self.t_env.execute_sql(
                f"CREATE TABLE {table} "
                "(id BIGINT, customer STRING, cents BIGINT, ordered_at TIMESTAMP_LTZ(6))"
            )

    def incoming(self) -> FlinkTable:
        """Three orders, as a table; SQL knows them as `incoming`."""
        return self.t_env.from_path("incoming")

    def stream(self) -> DataStream:
        """Three orders, as a stream."""
        from pyflink.common import Instant

        from examples.extending.data_stream import ORDER

        instants = [Instant.of_epoch_milli(to_millis(time)) for time in TIMES]
        return self.env.from_collection(list(zip(IDS, CUSTOMERS, CENTS, instants, strict=True)), ORDER)

    def untimed_stream(self) -> DataStream:
        """Three orders with their times in epoch milliseconds."""
        from pyflink.common import Types

        row_type = Types.ROW_NAMED(["id", "cents", "ordered_ms"], [Types.LONG()] * 3)
        return self.env.from_collection(list(zip(IDS, CENTS, map(to_millis, TIMES), strict=True)), row_type)

    def run_sql(self, name: str) -> None:
        """Run the statements of a file in `sql/`, each to its end."""
        text = (HERE / "sql" / f"{name}.sql").read_text()
        for statement in filter(str.strip, text.split(";\n")):
            self.t_env.execute_sql(statement).wait()

    def run_timed(self) -> None:
        """Run a job whose stream has timestamps."""
        from examples.extending.data_stream import append_with_watermarks

        append_with_watermarks(self.t_env, self.untimed_stream())
        self.env.execute("timed orders")

    def run_java(self) -> None:
        """Run the Java job as a program of its own, with every jar on its class path."""
        arguments = {
            "catalog": "ice",
            "table": "shop.orders",
            "sink.python.executable": sys.executable,
            "rest.bind-address": "127.0.0.1",
            **self.catalog.flink_properties(),
        }
        listed = [word for key, value in arguments.items() for word in (f"--{key}", value)]
        command = ["java", "-cp", f"{self.jar}:{java_class_path()}", "com.example.shop.OrdersJob", *listed]
        subprocess.run(command, check=True)

    def table(self, name: str = "shop.orders") -> Table:
        """A table as pyiceberg sees it."""
        return open_catalog(self.catalog).load_table(name)

    def summary(self, name: str = "shop.orders") -> dict[str, str]:
        """The newest snapshot's summary."""
        snapshot = self.table(name).current_snapshot()
        return dict(snapshot.summary.additional_properties) if snapshot and snapshot.summary else {}


def compile_java(folder: Path) -> Path:
    """Make the jar of the Java examples."""
    variables = {**os.environ, "CLASS_PATH": java_class_path()}
    subprocess.run([HERE / "build.sh", folder], check=True, env=variables)
    return folder / "shop.jar"


def java_class_path() -> str:
    """What Java code is compiled and run with: the sink, Iceberg, Hadoop's client, Flink."""
    from pyflink.find_flink_home import _find_flink_home

    jars = [jar_path(), *jar_set("flink"), *jar_set("hadoop")]
    return ":".join([*map(str, jars), f"{_find_flink_home()}/lib/*"])
