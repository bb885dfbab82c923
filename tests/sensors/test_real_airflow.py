"""Scheduler, triggerer and API server as users run them, with the example DAGs."""

import json
import sys
from pathlib import Path
from shutil import copytree

import pytest

from local_stack.airflow import Airflow
from local_stack.waiting import wait_until
from tests.sensors.lake import FLIGHTS, SensorLake

pytestmark = pytest.mark.integration

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "sensors" / "example_dags"
CDC = "lake.flights_cdc"
DEADLINE_S = 240.0
HOURS = [f"2013-01-01T{hour:02}:00:00Z" for hour in range(6)]


@pytest.fixture(scope="module")
def real_lake(tmp_path_factory) -> SensorLake:
    lake = SensorLake(tmp_path_factory.mktemp("lake"))
    lake.create(watermark=HOURS[1])
    lake.create(CDC, watermark=HOURS[1])
    return lake


@pytest.fixture(scope="module")
def airflow(tmp_path_factory, real_lake):
    folder = tmp_path_factory.mktemp("airflow")
    for dags in (EXAMPLES, HERE / "dags"):
        copytree(dags, folder / "dags", dirs_exist_ok=True)
    program = Path(sys.executable).with_name("airflow")
    environment = {"AIRFLOW_CONN_ICE": real_lake.connection, "AIRFLOW__CORE__UNIT_TEST_MODE": "false"}
    with Airflow(program, folder / "home", folder / "dags", environment) as running:
        yield running


def states(airflow: Airflow, dag: str, task: str) -> list[str | None]:
    return [airflow.task_state(dag, run["dag_run_id"], task) for run in airflow.runs(dag)]


def payloads(airflow: Airflow, asset: str) -> list[dict]:
    events = airflow.call("GET", "/assets/events?limit=100")["asset_events"]
    events.sort(key=lambda event: event["id"])
    return [event["extra"]["payload"] for event in events if event["name"] == asset]


def starts(airflow: Airflow) -> list[str]:
    return [payload["partition_start"] for payload in payloads(airflow, "flights_final_hours")]


def await_state(airflow: Airflow, dag: str, run: str, task: str, wanted: str) -> None:
    wait_until(
        lambda: airflow.task_state(dag, run, task) == wanted, DEADLINE_S, f"{dag}.{task} is {wanted}", 1.0
    )


def test_hours_are_released_one_by_one_across_a_killed_triggerer(airflow, real_lake):
    airflow.wait_for_dag("gated_on_base")
    airflow.wait_for_dag("event_driven")
    wait_until(
        lambda: states(airflow, "gated_on_base", "wait_for_hour") == ["success"] + 3 * ["deferred"],
        DEADLINE_S,
        "one hour is released and three are waited for",
        1.0,
    )
    wait_until(lambda: starts(airflow) == HOURS[:1], DEADLINE_S, "the hour's event is there", 1.0)
    wait_until(
        lambda: [run["state"] for run in airflow.runs("event_driven")] == ["success"],
        DEADLINE_S,
        "the event started a run",
        1.0,
    )

    airflow.triggerer.kill()
    real_lake.set_watermark(HOURS[3])
    airflow.triggerer.start()

    wait_until(
        lambda: states(airflow, "gated_on_base", "aggregate") == 3 * ["success"] + [None],
        DEADLINE_S,
        "two more hours are released and worked on",
        1.0,
    )
    assert states(airflow, "gated_on_base", "wait_for_hour")[3] == "deferred"
    wait_until(lambda: len(starts(airflow)) >= 3, DEADLINE_S, "both hours' events are there", 1.0)
    assert starts(airflow) == HOURS[:3]

    real_lake.set_watermark(HOURS[5])
    wait_until(
        lambda: states(airflow, "gated_on_base", "aggregate") == 4 * ["success"],
        DEADLINE_S,
        "the last hour is worked on",
        1.0,
    )
    wait_until(lambda: len(starts(airflow)) >= 5, DEADLINE_S, "all events are there", 1.0)
    assert starts(airflow) == HOURS[:5]
    last = payloads(airflow, "flights_final_hours")[-1]
    assert last == {
        "table": FLIGHTS,
        "branch": "main",
        "partition_start": HOURS[4],
        "partition_end": HOURS[5],
        "watermark": HOURS[5],
        "snapshot_id": None,
    }


def test_late_rows_start_a_run_for_their_hour_only(airflow, real_lake):
    airflow.wait_for_dag("redo_on_late_data")
    database = airflow.directory / "airflow.db"
    wait_until(lambda: has_cursor(database, "finalization.late:"), DEADLINE_S, "the watcher has begun", 1.0)
    snapshot = real_lake.commit_late({HOURS[0]: 3}, CDC)
    wait_until(
        lambda: [run["state"] for run in airflow.runs("redo_on_late_data")] == ["success"],
        DEADLINE_S,
        "the hour is done again",
        1.0,
    )
    (payload,) = payloads(airflow, "flights_reopened_hours")
    assert payload["partition_start"] == HOURS[0]
    assert payload["late_records"] == 3
    assert payload["snapshot_id"] == snapshot
    run = airflow.runs("redo_on_late_data")[0]["dag_run_id"]
    assert xcom(airflow, "redo_on_late_data", run, "redo", 0) == f"{HOURS[0]} to {HOURS[1]}"


def test_every_mode_gives_the_same_answer(airflow, real_lake):
    airflow.wait_for_dag("modes")
    real_lake.create("lake.modes", watermark=HOURS[0])
    run = airflow.trigger("modes", {"until": HOURS[1]})
    wait_until(
        lambda: (
            airflow.task_state("modes", run, "deferred") == "deferred"
            and airflow.task_state("modes", run, "rescheduled") == "up_for_reschedule"
            and airflow.task_state("modes", run, "poked") == "running"
        ),
        DEADLINE_S,
        "each of the three waits",
        0.2,
    )
    real_lake.set_watermark(HOURS[2], "lake.modes")
    answers = []
    for task in ("poked", "rescheduled", "deferred"):
        await_state(airflow, "modes", run, task, "success")
        answers.append(xcom(airflow, "modes", run, task))
    assert answers[0]["watermarks"]["lake.modes"] == HOURS[2]
    assert answers[0] == answers[1] == answers[2]


def test_every_mode_times_out_alike(airflow):
    airflow.wait_for_dag("never")
    run = airflow.trigger("never")
    for task in ("poked", "rescheduled", "deferred"):
        await_state(airflow, "never", run, f"{task}_hard", "failed")
        await_state(airflow, "never", run, f"{task}_softly", "skipped")


def test_a_crash_of_the_trigger_fails_the_task(airflow):
    airflow.wait_for_dag("crash")
    await_state(airflow, "crash", airflow.trigger("crash"), "wait", "failed")


def xcom(airflow: Airflow, dag: str, run: str, task: str, index: int = -1):
    path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/return_value?map_index={index}"
    value = airflow.call("GET", f"{path}&deserialize=false")["value"]
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def has_cursor(database: Path, prefix: str) -> bool:
    import sqlite3

    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        query = "SELECT count(*) FROM asset_state_store WHERE key LIKE ?"
        return connection.execute(query, (f"{prefix}%",)).fetchone()[0] > 0
