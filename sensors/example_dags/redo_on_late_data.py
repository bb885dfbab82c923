"""Does an hour again when late records reopened it, and only that hour."""

from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_iceberg_finalization.triggers.late_data import LateDataTrigger

reopened = Asset(
    "flights_reopened_hours",
    watchers=[
        AssetWatcher(
            name="late_flights",
            trigger=LateDataTrigger(table="lake.flights_cdc", iceberg_conn_id="ice", poke_interval=1),
        )
    ],
)

with DAG("redo_on_late_data", schedule=[reopened]):

    @task
    def hours_to_redo(triggering_asset_events: Any = None) -> list[dict[str, str]]:
        """Each hour once, however often it was reopened. Without a start: everything before its end."""
        payloads = [event.extra["payload"] for event in triggering_asset_events[reopened]]
        hours = {(hour["partition_start"], hour["partition_end"]) for hour in payloads}
        return [{"start": start or "", "end": end} for start, end in sorted(hours, key=lambda hour: hour[1])]

    @task
    def redo(hour: dict[str, str]) -> str:
        """The place of the job."""
        return f"{hour['start']} to {hour['end']}"

    redo.expand(hour=hours_to_redo())
