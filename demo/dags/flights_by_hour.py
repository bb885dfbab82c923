"""Reads four morning hours of the base table, each as soon as it is final.

The work is done by the demo's own consumer, in the demo's environment: Airflow only decides when.
"""

import os
from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_provider_iceberg_finalization.sensors.finalization import FinalizationSensor

FIRST = datetime.fromisoformat(os.environ["DEMO_FIRST_HOUR"]).astimezone(UTC)
HOURS = 4

with DAG(
    "flights_by_hour",
    schedule=CronDataIntervalTimetable("@hourly", timezone="UTC"),
    start_date=FIRST,
    end_date=FIRST + timedelta(hours=HOURS - 1),
    catchup=True,
    max_active_runs=HOURS,
):
    wait = FinalizationSensor(
        task_id="wait_for_hour",
        table="lake.flights",
        until="{{ data_interval_end }}",
        iceberg_conn_id="ice",
        deferrable=True,
        poke_interval=1,
        timeout=timedelta(minutes=30),
        # A busy scheduler, late to read the report of the deferral, fails a task that comes back at once.
        retries=2,
        retry_delay=timedelta(seconds=1),
    )
    read = BashOperator(
        task_id="read_hour",
        bash_command='"$DEMO_PYTHON" -m demo.consumer "$DEMO_DIRECTORY/flights.yaml" '
        "{{ data_interval_start.strftime('%Y-%m-%dT%H:%MZ') }} "
        "\"$DEMO_DIRECTORY/airflow-{{ data_interval_start.strftime('%Y%m%dT%H') }}.json\"",
        cwd=os.environ["DEMO_REPOSITORY"],
    )
    wait >> read
