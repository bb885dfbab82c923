"""A Flink table environment that has the extensible sink, locally or on a running cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from finalization.jars import class_path, jar_set
from sink_extensions.jars import jar_path

if TYPE_CHECKING:
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment, TableEnvironment

_HADOOP_VARIABLE = "HADOOP_CLASSPATH"
_LOGGING_VARIABLE = "LOG4J_PROPERTIES"
_LOGGING = Path(__file__).with_name("log4j2.properties")


def pipeline_jars(*more: Path) -> str:
    """The value of `pipeline.jars`: the sink, the Iceberg runtime, the connectors, and jars of your own.

    The sink's jar, the Iceberg runtime and the extensions must share a class loader, so all are listed here.
    """
    return ";".join(path.absolute().as_uri() for path in [jar_path(), *jar_set("flink"), *more])


def create_environment(config: Mapping[str, str]) -> TableEnvironment:
    """Create a streaming table environment.

    Args:
        config: Flink configuration; set before the environment exists, as checkpoint and restore keys need.

    Raises:
        ConfigurationError: if a jar is missing.
    """
    configuration = _configuration(config)

    from pyflink.table import EnvironmentSettings, TableEnvironment

    settings = (
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    )
    return TableEnvironment.create(settings)


def create_stream_environment(
    config: Mapping[str, str],
) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Create an environment for jobs of the DataStream API, and the table environment that belongs to it.

    Args:
        config: as of `create_environment`.

    Raises:
        ConfigurationError: if a jar is missing.
    """
    configuration = _configuration(config)

    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment

    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    return environment, StreamTableEnvironment.create(environment)


def _configuration(config: Mapping[str, str]) -> Configuration:
    """The configuration with the defaults of every job; starts the JVM, if there is none yet."""
    # Hadoop's classes and the catalog's driver must be on the JVM's own class path from its start.
    os.environ.setdefault(_HADOOP_VARIABLE, class_path("hadoop"))
    os.environ.setdefault(_LOGGING_VARIABLE, str(_LOGGING))

    from pyflink.common import Configuration

    configuration = Configuration()
    defaults = {
        "pipeline.jars": pipeline_jars(),
        "sink.python.executable": sys.executable,
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "table.local-time-zone": "UTC",
    }
    for key, value in {**defaults, **config}.items():
        configuration.set_string(key, value)
    return configuration
