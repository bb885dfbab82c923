"""The SQL of a pipeline's job, and what a pipeline's types become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from finalization.catalog import open_catalog
from finalization.exceptions import ConfigurationError
from flink_jobs import cdc_job
from flink_jobs.submit import newest_checkpoint
from flink_jobs.tables import CDC_COLUMNS, DEAD_LETTER_COLUMNS, ensure_tables
from flink_jobs.types import iceberg_type
from tests.pipelines import PipelineCase

COLUMNS = {"id": "BIGINT", "it's": "STRING", "at": "TIMESTAMP(6)"}


def case(directory: Path, columns: dict[str, str] = COLUMNS, **changes: Any) -> PipelineCase:
    event_time = changes.pop("event_time", {"column": "at"})
    return PipelineCase.create(directory, "127.0.0.1:9092", "things", columns, ["id"], event_time, **changes)


def test_the_source_reads_the_topics_with_the_rows_own_types(tmp_path: Path) -> None:
    sql = cdc_job.create_source(case(tmp_path).pipeline)
    assert "`id` BIGINT, `it's` STRING, `at` TIMESTAMP(6), `_op` STRING" in sql
    assert "'topic' = 'things'" in sql
    assert "'change-event-json.event-time-column' = 'at'" in sql


def test_kafka_properties_are_passed_on_and_quoted(tmp_path: Path) -> None:
    kafka = {"brokers": "b:1", "topic-pattern": "shop\\..*", "properties": {"sasl.jaas.config": "login 'x'"}}
    sql = cdc_job.create_source(case(tmp_path, kafka=kafka).pipeline)
    assert "'topic-pattern' = 'shop\\..*'" in sql
    assert "'properties.sasl.jaas.config' = 'login ''x'''" in sql


def test_the_source_time_is_an_event_time_too(tmp_path: Path) -> None:
    pipeline = case(tmp_path, event_time={"column": "source.ts_ms"}).pipeline
    assert "'change-event-json.event-time-column' = '_source_ts'" in cdc_job.create_source(pipeline)


def test_an_expression_leaves_snapshot_rows_without_event_time(tmp_path: Path) -> None:
    pipeline = case(tmp_path, event_time={"expression": "`at` + INTERVAL '1' HOUR"}).pipeline
    assert "event-time-column" not in cdc_job.create_source(pipeline)
    expression = "CASE WHEN `_op` IN ('r', 't') THEN NULL ELSE (`at` + INTERVAL '1' HOUR) END"
    assert expression in cdc_job.insert_changes(pipeline)


def test_every_column_of_both_tables_is_written(tmp_path: Path) -> None:
    pipeline = case(tmp_path).pipeline
    changes, letters = cdc_job.inserts(pipeline)
    for name in [*COLUMNS, *CDC_COLUMNS]:
        assert f"`{name}`" in changes.split(" SELECT ")[0]
    for name in DEAD_LETTER_COLUMNS:
        assert f"`{name}`" in letters.split(" SELECT ")[0]
    assert changes.startswith("INSERT INTO `ice`.`lake`.`things_cdc`")


@pytest.mark.parametrize(
    ("sql_type", "expected"),
    [
        ("BIGINT", "long"),
        ("smallint", "int"),
        ("DECIMAL(10, 2)", "decimal(10, 2)"),
        ("DECIMAL(10)", "decimal(10, 0)"),
        ("VARCHAR(20)", "string"),
        ("TIMESTAMP(3)", "timestamp"),
        ("TIMESTAMP_LTZ(6)", "timestamptz"),
        ("BYTES", "binary"),
    ],
)
def test_a_flink_type_has_its_iceberg_type(sql_type: str, expected: str) -> None:
    assert str(iceberg_type("c", sql_type)) == expected


@pytest.mark.parametrize("sql_type", ["TEXT", "DECIMAL", "ROW<a INT>", "TIMESTAMP(3"])
def test_an_unknown_type_is_named_with_those_that_can_be_used(sql_type: str) -> None:
    with pytest.raises(ConfigurationError, match=r"columns\.c is .*expected one of BOOLEAN"):
        iceberg_type("c", sql_type)


def test_tables_are_made_with_hidden_hours_and_the_policy(tmp_path: Path) -> None:
    made = case(tmp_path, finalization={"statistic": "p5"})
    ensure_tables(open_catalog(made.pipeline.catalog), made.pipeline)
    table = made.table("lake.things_cdc")
    assert str(table.spec().fields[0].transform) == "hour"
    assert table.properties["finalization.event-time-column"] == "_event_time"
    assert table.properties["finalization.statistic"] == "p5"
    # Expiry must leave what the policy looks back on.
    assert int(table.properties["history.expire.min-snapshots-to-keep"]) >= 12
    assert made.table("lake.things_cdc_dead_letters").schema().find_field("value")


def test_a_second_start_keeps_applied_policy_and_adds_new_columns(tmp_path: Path) -> None:
    made = case(tmp_path, finalization={"statistic": "p5"})
    ensure_tables(open_catalog(made.pipeline.catalog), made.pipeline)
    with made.table("lake.things_cdc").transaction() as changed:
        changed.set_properties({"finalization.statistic": "max"})
    grown = case(tmp_path, {**COLUMNS, "added": "INT"}, finalization={"statistic": "p5"})
    ensure_tables(open_catalog(grown.pipeline.catalog), grown.pipeline)
    table = grown.table("lake.things_cdc")
    assert str(table.schema().find_field("added").field_type) == "int"
    assert table.properties["finalization.statistic"] == "max"


def test_a_changed_type_is_refused_with_what_to_do(tmp_path: Path) -> None:
    made = case(tmp_path)
    ensure_tables(open_catalog(made.pipeline.catalog), made.pipeline)
    changed = case(tmp_path, {**COLUMNS, "id": "STRING"})
    with pytest.raises(ConfigurationError, match=r"columns\.id is string, but the table .* has it as long"):
        ensure_tables(open_catalog(changed.pipeline.catalog), changed.pipeline)


def test_the_newest_completed_checkpoint_is_found(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path.as_uri()) is None
    for job, number in (("a", 1), ("a", 2), ("b", 3)):
        folder = tmp_path / job / f"chk-{number}"
        folder.mkdir(parents=True)
        if number != 3:
            (folder / "_metadata").touch()
    assert newest_checkpoint(tmp_path.as_uri()) == (tmp_path / "a" / "chk-2").as_uri()
    assert newest_checkpoint("s3://bucket/checkpoints") is None


def test_heartbeats_join_the_source_and_its_watermark_only(tmp_path: Path) -> None:
    topics = {"brokers": "b:1", "topics": ["things"], "heartbeat-topic": "__debezium-heartbeat.shop"}
    pipeline = case(tmp_path, kafka=topics).pipeline
    sql = cdc_job.create_source(pipeline)
    assert "'topic' = 'things;__debezium-heartbeat.shop'" in sql
    assert "WATERMARK FOR `_message_time`" in sql
    assert "`_op` <> 'heartbeat'" in cdc_job.insert_changes(pipeline)
    pattern = {"brokers": "b:1", "topic-pattern": "t.*", "heartbeat-topic": "h.s"}
    sql = cdc_job.create_source(case(tmp_path, kafka=pattern).pipeline)
    assert "'topic-pattern' = 't.*|\\Qh.s\\E'" in sql
