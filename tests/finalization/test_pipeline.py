from copy import deepcopy

import pytest
import yaml

from finalization.exceptions import PipelineError
from finalization.pipeline import load, loads

GOOD = {
    "name": "flights",
    "kafka": {"brokers": "127.0.0.1:9092", "topics": ["demo.public.flights"], "properties": {"a.b": True}},
    "format": "debezium-json",
    "columns": {"id": "BIGINT", "carrier": "STRING", "sched_dep": "TIMESTAMP(6)"},
    "primary-key": ["id"],
    "event-time": {"column": "sched_dep"},
    "tables": {"cdc": "lake.flights_cdc", "base": "lake.flights"},
    "catalog": {"name": "ice", "type": "sql", "uri": "sqlite:////d/c.db", "warehouse": "file:///d/wh"},
    "finalization": {"statistic": "min", "lookback-commits": 12},
    "checkpoint": {"interval": "10s", "directory": "file:///d/checkpoints"},
}


def changed(path: str, value) -> str:
    content = deepcopy(GOOD)
    *parents, last = path.split("/")
    part = content
    for key in parents:
        part = part[key]
    if value is None:
        del part[last]
    else:
        part[last] = value
    return yaml.safe_dump(content, sort_keys=False)


def test_a_good_file_is_read(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(yaml.safe_dump(GOOD, sort_keys=False))
    pipeline = load(file)
    assert pipeline.tables.dead_letters == "lake.flights_cdc_dead_letters"
    assert list(pipeline.columns) == ["id", "carrier", "sched_dep"]
    assert pipeline.checkpoint.interval_ms == 10_000
    assert pipeline.kafka.properties == {"a.b": "true"}
    assert (pipeline.parallelism, pipeline.upsert.deletes) == (1, "hard")
    assert pipeline.policy_properties() == {
        "finalization.event-time-column": "_event_time",
        "finalization.statistic": "min",
        "finalization.lookback-commits": "12",
    }


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("kafka/brokerz", "x", "kafka.brokerz: no such key; did you mean brokers?"),
        ("catalog/typ", "sql", "catalog.typ: no such key; did you mean type?"),
        ("kafka/brokers", None, "kafka.brokers: is missing; expected host:port"),
        ("catalog/type", "hive", "catalog.type: is 'hive'; expected sql or rest"),
        (
            "finalization/statistic",
            "p101",
            "finalization.statistic is 'p101'; expected min, max or a percentile",
        ),
        ("finalization/lookback-commit", 3, "did you mean finalization.lookback-commits?"),
        ("finalization/granularity", "PT7H", "finalization.granularity is 'PT7H'"),
        ("finalization/event-time-column", "x", "say it under event-time"),
        ("checkpoint/interval", "10 parsecs", "checkpoint.interval: is '10 parsecs'"),
        ("columns/sched_dep", "BIGINT", "event-time.format is not set; expected one of epoch-seconds"),
        ("columns/_op", "STRING", "names that begin with _"),
        ("tables/cdc", "flights", "tables.cdc: is 'flights'; expected namespace.table"),
        ("tables/base", "lake.flights_cdc", "must be three tables"),
        ("primary-key", ["key"], "primary-key has 'key', which is not in columns (id, carrier, sched_dep)"),
        ("primary-key", [], "primary-key: is empty; expected a list of column names"),
        ("event-time", {"column": "a", "expression": "b"}, "event-time: give either column or expression"),
        ("event-time", {"column": "dep"}, "event-time.column is 'dep', which is not in columns"),
        ("kafka/topic-pattern", "x.*", "kafka: give either topics"),
        ("parallelism", "many", "parallelism: is 'many'; expected a whole number from 1"),
        ("upsert", {"deletes": "none"}, "upsert.deletes: is 'none'; expected hard or soft"),
        ("upsert", {"truncate": "ignore"}, "upsert.truncate: is 'ignore'; expected refuse or apply"),
        (
            "upsert",
            {"table-properties": "v3"},
            "upsert.table-properties: is 'v3'; expected a mapping of Iceberg's table properties",
        ),
        ("format", "avro", "format: is 'avro'; expected debezium-json"),
    ],
)
def test_a_wrong_key_is_named_with_value_form_and_fix(path, value, text):
    with pytest.raises(PipelineError) as caught:
        loads(changed(path, value))
    assert text in str(caught.value)


def test_a_truncate_of_one_of_several_tables_cannot_be_applied():
    content = {**GOOD, "upsert": {"truncate": "apply"}}
    assert loads(yaml.safe_dump(content)).upsert.truncate == "apply"
    for topics in ({"topics": ["a", "b"]}, {"topic-pattern": "shard.*"}):
        several = {**content, "kafka": {"brokers": "127.0.0.1:9092", **topics}}
        with pytest.raises(PipelineError, match="expected refuse where several topics feed one base table"):
            loads(yaml.safe_dump(several))


def test_every_problem_is_listed_at_once():
    with pytest.raises(PipelineError) as caught:
        loads("name: x\ncolumns: {}\n")
    assert all(key in str(caught.value) for key in ("kafka", "columns", "primary-key", "tables", "catalog"))


def test_environment_variables_are_resolved_and_secrets_never_printed():
    text = changed("kafka/properties", {"sasl.password": "${SECRET}"})
    pipeline = loads(text, environment={"SECRET": "s3cret"})
    assert pipeline.kafka.properties["sasl.password"] == "s3cret"
    assert "s3cret" not in repr(pipeline)
    with pytest.raises(PipelineError, match=r"kafka\.properties\.sasl\.password .* SECRET is not set"):
        loads(text, environment={})


def test_an_error_beside_a_secret_does_not_show_it():
    with pytest.raises(PipelineError) as caught:
        loads(changed("kafka/properties", {"password": ["s3cret"]}))
    assert "s3cret" not in str(caught.value)
    with pytest.raises(PipelineError) as caught:
        loads("catalog: {password: s3cret\nkafka: [")
    assert "s3cret" not in str(caught.value)


def test_references_in_the_policy_stay_references():
    policy = {"alert-sinks": "webhook", "alert-webhook-url": "${URL}"}
    assert (
        loads(changed("finalization", policy), environment={}).finalization["alert-webhook-url"] == "${URL}"
    )


@pytest.mark.parametrize("text", ["", "- a", "a: [", "just text"])
def test_a_file_that_holds_no_keys_is_refused(text):
    with pytest.raises(PipelineError):
        loads(text)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(PipelineError, match="cannot be read"):
        load(tmp_path / "none.yaml")
