"""The same wait in each mode, with an end and without."""

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_iceberg_finalization.sensors.finalization import FinalizationSensor
from tests.sensors.crashing import CrashingSensor

# A busy scheduler takes a task that comes back before the report of its last leg was read for one that got
# lost, and fails it. So nothing here comes back at once, and what should succeed may try again.
MODES = {
    "poked": {"mode": "poke", "poke_interval": 1},
    "rescheduled": {"mode": "reschedule", "poke_interval": 10},
    "deferred": {"deferrable": True, "poke_interval": 1},
}

with DAG("modes", schedule=None):
    for name, mode in MODES.items():
        FinalizationSensor(
            task_id=name,
            table=["lake.modes", "lake.flights"],
            until="{{ dag_run.conf['until'] }}",
            iceberg_conn_id="ice",
            retries=2,
            retry_delay=timedelta(seconds=1),
            **mode,
        )

with DAG("never", schedule=None):
    for name, mode in MODES.items():
        for soft_fail in (False, True):
            FinalizationSensor(
                task_id=f"{name}_{'softly' if soft_fail else 'hard'}",
                table="lake.nothing",
                until="2013-01-01T10:00Z",
                iceberg_conn_id="ice",
                timeout=timedelta(seconds=20),
                soft_fail=soft_fail,
                **mode,
            )

with DAG("crash", schedule=None):
    CrashingSensor(
        task_id="wait",
        table="lake.nothing",
        until="2013-01-01T10:00Z",
        iceberg_conn_id="ice",
        deferrable=True,
    )
