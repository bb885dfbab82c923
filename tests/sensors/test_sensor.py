"""The sensor's own part: parameters, templates, deferral, endings."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk import DAG
from airflow.sdk.bases.operator import TRIGGER_FAIL_REPR, TriggerFailureReason
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_provider_iceberg_finalization.sensors.finalization import FinalizationSensor
from airflow_provider_iceberg_finalization.triggers.finalization import FinalizationTrigger
from finalization.exceptions import CatalogUnreachableError
from tests.sensors.lake import CONNECTION, FLIGHTS

TEN = "2013-01-01T10:00:00Z"
MODES = [{"mode": "poke"}, {"mode": "reschedule"}, {"deferrable": True}]


def sensor(**parameters) -> FinalizationSensor:
    defaults = {
        "task_id": "wait",
        "table": FLIGHTS,
        "until": TEN,
        "iceberg_conn_id": CONNECTION,
        "poke_interval": 0,
        "deferrable": False,
        "patience": 0,
    }
    return FinalizationSensor(**{**defaults, **parameters})


@pytest.fixture
def unreachable(monkeypatch):
    monkeypatch.setenv(
        "AIRFLOW_CONN_ICE", '{"conn_type": "iceberg", "host": "http://127.0.0.1:1", "extra": {}}'
    )


class FirstTry:
    """What mode `reschedule` asks the task instance."""

    @staticmethod
    def get_first_reschedule_date(context):
        return None


def execute(operator: FinalizationSensor):
    return operator.execute({"ti": FirstTry()})


@pytest.mark.parametrize("mode", MODES)
def test_what_is_final_already_succeeds_at_once_with_the_same_answer(lake, mode):
    lake.create(watermark="2013-01-01T11:00:00Z")
    assert execute(sensor(**mode)) == {
        "status": "final",
        "message": "final: lake.flights: W 2013-01-01T11:00:00Z, awaited 2013-01-01T10:00:00Z, reached",
        "until": TEN,
        "watermarks": {FLIGHTS: "2013-01-01T11:00:00Z"},
    }


def test_what_is_not_final_is_deferred_with_everything_the_trigger_needs(lake):
    lake.create(watermark="2013-01-01T09:00:00Z")
    operator = sensor(
        deferrable=True,
        table=[FLIGHTS, "lake.b"],
        until=datetime(2013, 1, 1, 11, tzinfo=UTC),
        max_late=3,
        late_table="lake.cdc",
        poke_interval=7,
        patience=timedelta(minutes=2),
        timeout=timedelta(hours=3),
    )
    with pytest.raises(TaskDeferred) as deferral:
        execute(operator)
    assert deferral.value.timeout == timedelta(hours=3)
    assert deferral.value.method_name == "execute_complete"
    _, arguments = deferral.value.trigger.serialize()
    assert arguments == {
        "tables": [FLIGHTS, "lake.b"],
        "until": "2013-01-01T11:00:00Z",
        "iceberg_conn_id": CONNECTION,
        "branch": "main",
        "max_late": 3,
        "late_table": "lake.cdc",
        "poke_interval": 7,
        "patience": 120,
        "must_exist": False,
    }
    assert FinalizationTrigger(**arguments).serialize() == deferral.value.trigger.serialize()


@pytest.mark.parametrize("mode", MODES)
def test_late_rows_fail_without_retries_or_skip(lake, mode):
    lake.create(watermark="2013-01-01T11:00:00Z")
    lake.commit_late({"2013-01-01T09:00Z": 1})
    with pytest.raises(AirflowFailException, match="1 records came late"):
        execute(sensor(max_late=0, **mode))
    with pytest.raises(AirflowSkipException):
        execute(sensor(max_late=0, soft_fail=True, **mode))


@pytest.mark.parametrize("mode", MODES)
def test_an_unreachable_catalog_fails_with_retries_or_skips_if_nothing_may_fail(unreachable, mode):
    with pytest.raises(CatalogUnreachableError, match="cannot be reached"):
        execute(sensor(**mode))
    with pytest.raises(AirflowSkipException):
        execute(sensor(never_fail=True, **mode))


def test_silent_fail_waits_for_an_unreachable_catalog_for_ever(unreachable):
    with pytest.raises(TaskDeferred) as deferral:
        execute(sensor(silent_fail=True, deferrable=True))
    assert deferral.value.trigger.terms.patience_s is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"until": "2013-01-01"}, "until is '2013-01-01'; expected an instant with a zone"),
        ({"table": "flights"}, "expected its full name"),
        ({"iceberg_conn_id": "nothing"}, "nothing"),
    ],
)
def test_mistakes_fail_without_retries(lake, mode, parameters, message):
    with pytest.raises(AirflowFailException, match=message):
        execute(sensor(**mode, **parameters))


@pytest.mark.parametrize("mode", [{"mode": "poke"}, {"mode": "reschedule"}])
def test_a_table_that_never_comes_times_out(lake, mode):
    with pytest.raises(AirflowSensorTimeout):
        execute(sensor(timeout=0, **mode))


def test_a_deferred_timeout_is_a_sensors_timeout(lake):
    ending = {"error": TriggerFailureReason.TRIGGER_TIMEOUT}
    with pytest.raises(AirflowSensorTimeout):
        sensor(deferrable=True).resume_execution(TRIGGER_FAIL_REPR, ending, {})
    with pytest.raises(AirflowSkipException):
        sensor(deferrable=True, soft_fail=True).resume_execution(TRIGGER_FAIL_REPR, ending, {})


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("late", AirflowFailException),
        ("mistake", AirflowFailException),
        ("unreachable", CatalogUnreachableError),
    ],
)
def test_the_triggers_ending_becomes_the_tasks(status, error):
    event = {"status": status, "message": "why", "until": TEN, "watermarks": {}}
    with pytest.raises(error, match="why"):
        sensor(deferrable=True).execute_complete({}, event)


@pytest.mark.parametrize(
    "end",
    [
        datetime(2013, 1, 1, 10, tzinfo=UTC),
        datetime.fromisoformat("2013-01-01T15:30:00+05:30"),
    ],
)
def test_the_data_interval_is_rendered_whatever_its_zone(lake, end):
    lake.create(watermark=TEN)
    with DAG("rendering", schedule=None):
        operator = sensor(until="{{ data_interval_end }}", table="{{ params.table }}")
    operator.render_template_fields({"data_interval_end": end, "params": {"table": FLIGHTS}})
    assert operator.table == FLIGHTS
    assert execute(operator)["until"] == TEN


def test_tables_in_a_list_are_rendered_too(lake):
    with DAG("rendering_lists", schedule=None):
        operator = sensor(table=["lake.{{ params.name }}", FLIGHTS])
    operator.render_template_fields({"params": {"name": "a"}})
    assert operator.table == ["lake.a", FLIGHTS]
