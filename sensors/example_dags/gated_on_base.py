"""An hourly job that runs once its hour is final in the base table."""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_provider_iceberg_finalization.sensors.finalization import FinalizationSensor

with DAG(
    "gated_on_base",
    schedule=CronDataIntervalTimetable("@hourly", timezone="UTC"),
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    end_date=datetime(2013, 1, 1, 3, tzinfo=UTC),
    catchup=True,
    max_active_runs=24,
):
    wait = FinalizationSensor(
        task_id="wait_for_hour",
        table="lake.flights",
        until="{{ data_interval_end }}",
        iceberg_conn_id="ice",
        deferrable=True,
        poke_interval=1,
        timeout=timedelta(hours=6),
        # For an unreachable catalog, and for a scheduler that is late to read reports of tasks.
        retries=2,
        retry_delay=timedelta(seconds=10),
    )

    @task
    def aggregate(data_interval_start: datetime, data_interval_end: datetime) -> str:
        """The place of the job: rows of [start, end) will not change any more."""
        return f"{data_interval_start:%Y-%m-%dT%H:%MZ} to {data_interval_end:%Y-%m-%dT%H:%MZ}"

    wait >> aggregate()
