"""The CDC job: Kafka topics of change events into an append-only Iceberg table, as Flink SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sink_extensions import sql

if TYPE_CHECKING:
    from finalization.pipeline import Pipeline

SOURCE = "changes"
_CHANGE_EVENT_FORMAT = "change-event-json"

# What the change-event format adds to the row's own columns.
_DECODED_COLUMNS = {
    "_op": "STRING",
    "_source_ts": "TIMESTAMP_LTZ(3)",
    "_position": "STRING",
    "_event_time": "TIMESTAMP_LTZ(3)",
    "_error": "STRING",
    "_raw": "BYTES",
}
# Kafka's own facts about a message.
_METADATA_COLUMNS = {
    "_topic": "STRING METADATA FROM 'topic' VIRTUAL",
    "_kafka_partition": "INT METADATA FROM 'partition' VIRTUAL",
    "_offset": "BIGINT METADATA FROM 'offset' VIRTUAL",
}


def statements(pipeline: Pipeline) -> list[str]:
    """The statements that prepare the session: Python functions, the catalog, the source."""
    functions = [
        f"CREATE TEMPORARY SYSTEM FUNCTION {sql.identifier(name)} AS {sql.literal(target)} LANGUAGE PYTHON"
        for name, target in pipeline.event_time.functions.items()
    ]
    return [*functions, create_catalog(pipeline), create_source(pipeline)]


def inserts(pipeline: Pipeline) -> list[str]:
    """The two INSERT statements of the job: changes, and what could not be read."""
    return [insert_changes(pipeline), insert_dead_letters(pipeline)]


def create_catalog(pipeline: Pipeline) -> str:
    """`CREATE CATALOG` of the type whose sinks carry facts."""
    options = {"type": "iceberg-extensible", **pipeline.catalog.flink_properties()}
    return f"CREATE CATALOG {sql.identifier(pipeline.catalog.name)} WITH ({sql.options(options)})"


def create_source(pipeline: Pipeline) -> str:
    """`CREATE TABLE` of the change events: all topics of the pipeline, from the earliest message."""
    kafka = pipeline.kafka
    columns = {**pipeline.columns, **_DECODED_COLUMNS, **_METADATA_COLUMNS}
    options = {
        "connector": "kafka",
        **_topic_options(pipeline),
        "properties.bootstrap.servers": kafka.brokers,
        "properties.group.id": pipeline.name,
        "scan.startup.mode": "earliest-offset",
        # Partitions that appear later are read too.
        "scan.topic-partition-discovery.interval": "60 s",
        "format": _CHANGE_EVENT_FORMAT,
        **{f"properties.{key}": value for key, value in kafka.properties.items()},
        **_event_time_options(pipeline),
    }
    listed = ", ".join(f"{sql.identifier(name)} {sql_type}" for name, sql_type in columns.items())
    if kafka.heartbeat_topic is not None:
        listed += ", `_message_time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
        listed += ", WATERMARK FOR `_message_time` AS `_message_time`"
    return f"CREATE TEMPORARY TABLE {SOURCE} ({listed}) WITH ({sql.options(options)})"


def _topic_options(pipeline: Pipeline) -> dict[str, str]:
    kafka = pipeline.kafka
    heartbeats = [kafka.heartbeat_topic] if kafka.heartbeat_topic else []
    options = {f"{_CHANGE_EVENT_FORMAT}.heartbeats": "true"} if heartbeats else {}
    if kafka.topics:
        return {"topic": ";".join([*kafka.topics, *heartbeats]), **options}
    # The pattern is Java's, where \Q…\E takes a name as it stands.
    return {
        "topic-pattern": "|".join([str(kafka.topic_pattern), *(f"\\Q{h}\\E" for h in heartbeats)]),
        **options,
    }


def _event_time_options(pipeline: Pipeline) -> dict[str, str]:
    event_time = pipeline.event_time
    if event_time.column is None:
        return {}
    column = "_source_ts" if event_time.column == "source.ts_ms" else event_time.column
    options = {f"{_CHANGE_EVENT_FORMAT}.event-time-column": column}
    if event_time.format is not None and column != "_source_ts":
        options[f"{_CHANGE_EVENT_FORMAT}.event-time-format"] = event_time.format
    return options


def insert_changes(pipeline: Pipeline) -> str:
    """`INSERT` of the changes into the CDC table."""
    event_time = "`_event_time`"
    if pipeline.event_time.expression is not None:
        # A snapshot's rows say nothing about when they changed; a TRUNCATE has no row to ask.
        event_time = f"CASE WHEN `_op` IN ('r', 't') THEN NULL ELSE ({pipeline.event_time.expression}) END"
    values = {
        **{name: sql.identifier(name) for name in pipeline.columns},
        "_op": "`_op`",
        "_event_time": f"CAST({event_time} AS TIMESTAMP_LTZ(6))",
        "_source_ts": "CAST(`_source_ts` AS TIMESTAMP_LTZ(6))",
        "_position": "`_position`",
        **{name: sql.identifier(name) for name in _METADATA_COLUMNS},
        "_ingested_at": "CAST(CURRENT_TIMESTAMP AS TIMESTAMP_LTZ(6))",
    }
    return _insert(pipeline, pipeline.tables.cdc, values, "`_error` IS NULL AND `_op` <> 'heartbeat'")


def insert_dead_letters(pipeline: Pipeline) -> str:
    """`INSERT` of the messages that are no change, with where they came from and why they were refused."""
    values = {
        "topic": "`_topic`",
        "partition": "`_kafka_partition`",
        "offset": "`_offset`",
        "value": "`_raw`",
        "reason": "`_error`",
        "ingested_at": "CAST(CURRENT_TIMESTAMP AS TIMESTAMP_LTZ(6))",
    }
    return _insert(pipeline, pipeline.tables.dead_letters, values, "`_error` IS NOT NULL")


def _insert(pipeline: Pipeline, table: str, values: Mapping[str, str], condition: str) -> str:
    target = sql.path([pipeline.catalog.name, *table.split(".")])
    columns = ", ".join(sql.identifier(name) for name in values)
    selected = ", ".join(values.values())
    return f"INSERT INTO {target} ({columns}) SELECT {selected} FROM {SOURCE} WHERE {condition}"
