"""A job without a schedule: it runs when hours become final, once for all that came since its last run."""

from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_iceberg_finalization.triggers.partitions import FinalizedPartitionTrigger

final_hours = Asset(
    "flights_final_hours",
    watchers=[
        AssetWatcher(
            name="final_hours",
            trigger=FinalizedPartitionTrigger(table="lake.flights", iceberg_conn_id="ice", poke_interval=1),
        )
    ],
)

with DAG("event_driven", schedule=[final_hours]):

    @task
    def aggregate(triggering_asset_events: Any = None) -> list[str]:
        """The place of the job, hour by hour."""
        hours = [event.extra["payload"] for event in triggering_asset_events[final_hours]]
        return [f"{hour['partition_start']} to {hour['partition_end']}" for hour in hours]

    aggregate()
