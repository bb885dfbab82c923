"""An asset event for each partition that got records after it was final."""

from typing import Any

from airflow_provider_iceberg_finalization.lookup.look import LateCommit, TableLook
from airflow_provider_iceberg_finalization.triggers.watching import TableWatcher
from finalization.times import format_instant


class LateDataTrigger(TableWatcher):
    """
    Fires for each partition that late records reopened, so that a DAG can redo just that one.

    It reads the late counts that the streaming job writes into its snapshots, so it watches the table that
    the job writes, not one that an upsert fills::

        from airflow.sdk import Asset, AssetWatcher

        reopened = Asset(
            "flights_reopened",
            watchers=[
                AssetWatcher(
                    name="late_flights",
                    trigger=LateDataTrigger(table="lake.flights_cdc", iceberg_conn_id="ice"),
                )
            ],
        )

    Late commits found in one look make one event for each partition. The payload (`event.extra["payload"]`)
    holds `table`, `branch`, `partition_start`, `partition_end`, `late_records`, `commits` (how many brought
    them), `watermark`, and `snapshot_id` (the newest of these commits). `partition_start` is None for
    records so old that their commit sums them up: all before `partition_end`.

    The last commit reported is kept in the asset's state store, with the guarantees of
    `FinalizedPartitionTrigger`. A first start reports nothing that came before it.

    :param table: full name, `namespace.table`.
    :param iceberg_conn_id: connection of type `iceberg`.
    :param branch: branch whose commits are read.
    :param poke_interval: seconds between looks.
    """

    cursor_kind = "late"

    def news(self, look: TableLook, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        if not look.exists:
            return [], cursor
        newest = f"{look.committed_ms or 0}:{look.snapshot_id or 0}"
        if cursor is None:
            return [], newest
        commits = _since(look.late, cursor)
        partitions: dict[tuple[int | None, int], list[tuple[LateCommit, int]]] = {}
        for commit in commits:
            for part in commit.partitions:
                partitions.setdefault((part.start_ms, part.end_ms), []).append((commit, part.records))
        payloads = [
            {
                "table": self.table,
                "branch": self.branch,
                "partition_start": None if start is None else format_instant(start),
                "partition_end": format_instant(end),
                "late_records": sum(records for _, records in found),
                "commits": len(found),
                "watermark": None if look.watermark_ms is None else format_instant(look.watermark_ms),
                "snapshot_id": found[-1][0].snapshot_id,
            }
            for (start, end), found in sorted(partitions.items(), key=lambda item: item[0][1])
        ]
        last = commits[-1] if commits else None
        return payloads, f"{last.timestamp_ms}:{last.snapshot_id}" if last else cursor


def _since(late: tuple[LateCommit, ...], cursor: str) -> tuple[LateCommit, ...]:
    """The commits after the one reported last; by time where that one is expired or had no late records."""
    reported_ms, _, reported_id = cursor.partition(":")
    for position, commit in enumerate(late):
        if commit.snapshot_id == int(reported_id):
            return late[position + 1 :]
    return tuple(commit for commit in late if commit.timestamp_ms > int(reported_ms))
