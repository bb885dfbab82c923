"""An asset event for each newly final partition."""

from typing import Any

from airflow_provider_iceberg_finalization.lookup.look import TableLook
from airflow_provider_iceberg_finalization.triggers.watching import TableWatcher
from finalization.exceptions import ConfigurationError
from finalization.times import Granularity, format_instant, parse_instant


class FinalizedPartitionTrigger(TableWatcher):
    """
    Fires once for each partition of a table that becomes final, in order, also when W jumps over several.

    It watches the table's watermark W; partitions are those of the table's policy. For an `AssetWatcher`::

        from airflow.sdk import Asset, AssetWatcher

        flights = Asset(
            "flights_hours",
            watchers=[
                AssetWatcher(
                    name="final_hours",
                    trigger=FinalizedPartitionTrigger(table="lake.flights", iceberg_conn_id="ice"),
                )
            ],
        )

    The event's payload (`event.extra["payload"]`) holds `table`, `branch`, `partition_start`,
    `partition_end`, `watermark` (ISO-8601, UTC) and `snapshot_id` (the branch's newest snapshot at that
    look, None in an empty table). Airflow starts one run for all events that came since the last run, so a
    DAG goes through `triggering_asset_events`.

    The end of the last partition fired is kept in the asset's state store: a restart goes on from there,
    with what became final meanwhile. Nothing is lost; an event is repeated only if the triggerer is killed
    in the second or two between Airflow's storing it and the cursor's move. Without a store, or when several
    assets watch with the same arguments, a restart is like a first start.

    :param table: full name, `namespace.table`.
    :param iceberg_conn_id: connection of type `iceberg`.
    :param branch: branch whose watermark counts.
    :param poke_interval: seconds between looks.
    :param replay: on a first start, how many of the newest partitions that are final already are fired.
    :param granularity: for tables that have no policy of their own (those that an upsert writes), where it is
        not hours: `PT15M`, `day@Europe/Berlin`, …
    """

    cursor_kind = "final"

    def __init__(self, *, replay: int = 1, granularity: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.replay = replay
        self.granularity = granularity
        try:
            self._granularity = Granularity.from_label(granularity) if granularity else None
        except ValueError:
            expected = "hour, an ISO duration that divides a day, or day@ and a time zone"
            raise ConfigurationError.of("granularity", granularity, expected) from None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        classpath, kwargs = super().serialize()
        return classpath, {**kwargs, "replay": self.replay, "granularity": self.granularity}

    def news(self, look: TableLook, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        granularity = self._granularity or look.granularity
        if look.watermark_ms is None or granularity is None:
            return [], cursor
        end = granularity.index(look.watermark_ms)  # the first partition that is not final
        start = end - self.replay if cursor is None else granularity.index(parse_instant(cursor))
        if cursor is not None and start >= end:
            return [], cursor
        payloads = [
            {
                "table": self.table,
                "branch": self.branch,
                "partition_start": format_instant(granularity.start(index)),
                "partition_end": format_instant(granularity.start(index + 1)),
                "watermark": format_instant(look.watermark_ms),
                "snapshot_id": look.snapshot_id,
            }
            for index in range(start, end)
        ]
        return payloads, format_instant(granularity.start(end))
