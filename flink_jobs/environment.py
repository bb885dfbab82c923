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
    from pyflink.table import TableEnvironment

_HADOOP_VARIABLE = "HADOOP_CLASSPATH"
_LOGGING_VARIABLE = "LOG4J_PROPERTIES"
_LOGGING = Path(__file__).with_name("log4j2.properties")


def pipeline_jars() -> str:
    """The value of `pipeline.jars`: the sink, the Iceberg runtime, the connectors.

    The sink's jar and the Iceberg runtime must share a class loader, so both are listed here.
    """
    return ";".join(path.as_uri() for path in [jar_path(), *jar_set("flink")])


def create_environment(config: Mapping[str, str]) -> TableEnvironment:
    """Create a streaming table environment.

    Args:
        config: Flink configuration; set before the environment exists, as checkpoint and restore keys need.

    Raises:
        ConfigurationError: if a jar is missing.
    """
    # Hadoop's classes and the catalog's driver must be on the JVM's own class path from its start.
    os.environ.setdefault(_HADOOP_VARIABLE, class_path("hadoop"))
    os.environ.setdefault(_LOGGING_VARIABLE, str(_LOGGING))

    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

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
    settings = (
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    )
    return TableEnvironment.create(settings)
