"""How far a base table is behind the CDC table it follows."""

import json

import pytest

from finalization.behind import Behind, behind
from finalization.lineage import Snapshot
from finalization.prometheus import to_prometheus
from finalization.status import table_status
from finalization.table_state import TableState
from tests.finalization.histories import HOUR, MINUTE, START
from tests.finalization.test_cli import run

NINE, TEN = "2013-01-01T09:00:00Z", "2013-01-01T10:00:00Z"


def log(*operations: str, watermark: str | None = TEN) -> TableState:
    """A CDC table whose snapshots 1, 2, … are a minute apart; `empty` is an append without rows."""
    snapshots = {}
    for number, operation in enumerate(operations, 1):
        added = {"added-records": "0" if operation == "empty" else "5"}
        kind = "append" if operation == "empty" else operation
        parent = number - 1 if number > 1 else None
        snapshots[number] = Snapshot(number, parent, START + number * MINUTE, kind, added)
    properties = {"finalization.watermark": watermark} if watermark else {}
    return TableState("lake.t_cdc", properties, snapshots, {"main": len(operations)})


def base(cursor: int, watermark: str | None = NINE) -> TableState:
    properties = {"upsert.cdc-table": "lake.t_cdc", "upsert.cdc-snapshot-id": str(cursor)}
    return TableState("lake.t", properties | ({"finalization.watermark": watermark} if watermark else {}))


def test_what_brought_rows_after_the_cursor_is_counted_and_the_oldest_of_it_waits() -> None:
    cdc = log("append", "append", "empty", "replace", "append")
    assert behind(base(1), cdc, START + 10 * MINUTE) == Behind("lake.t_cdc", 2, 8 * MINUTE, HOUR)
    assert behind(base(2), cdc, START + 10 * MINUTE) == Behind("lake.t_cdc", 1, 5 * MINUTE, HOUR)
    assert behind(base(5), cdc, START + 10 * MINUTE) == Behind("lake.t_cdc", 0, 0, HOUR)


def test_what_is_not_known_is_not_made_up() -> None:
    cdc = log("append", "append")
    assert behind(base(77), cdc, START) == Behind("lake.t_cdc", None, None, HOUR)
    assert behind(base(2, watermark=None), cdc, START).watermark_ms is None
    assert behind(base(2), log("append", "append", watermark=None), START).watermark_ms is None
    # A rebuild from a new log may leave the base table's watermark behind, but never in front of it.
    assert behind(base(2, watermark="2013-01-01T11:00:00Z"), cdc, START).watermark_ms == 0


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (Behind("lake.t_cdc", 0, 0, 0), "follows lake.t_cdc, up to date"),
        (Behind("lake.t_cdc", 1, 2 * MINUTE + 7, 0), "follows lake.t_cdc, 1 snapshot (2m) behind"),
        (
            Behind("lake.t_cdc", 3, 2 * MINUTE, HOUR),
            "follows lake.t_cdc, 3 snapshots (2m) and 1h of watermark behind",
        ),
        (Behind("lake.t_cdc"), "follows lake.t_cdc, whose history since the last upsert cannot be read"),
    ],
)
def test_the_distance_in_words(distance: Behind, text: str) -> None:
    assert str(distance) == text


def test_a_base_table_whose_log_cannot_be_read_still_has_a_status() -> None:
    status = table_status(base(1), START)
    assert (status.code, status.behind) == ("carried", Behind("lake.t_cdc"))
    assert "finalization_base_behind" in to_prometheus([table_status(base(1), START, cdc=log("append"))])


def test_status_and_export_of_real_tables_tell_how_far_base_is_behind(lake) -> None:
    cdc = lake.create("lake.t_cdc", lookback_commits="1", watermark=TEN)
    lake.append(cdc, [START])
    applied = cdc.refresh().current_snapshot().snapshot_id
    lake.append(cdc, [START])
    lake.append(cdc, [START])
    properties = {
        "finalization.watermark": NINE,
        "upsert.cdc-table": "lake.t_cdc",
        "upsert.cdc-snapshot-id": str(applied),
    }
    lake.client.catalog.create_table("lake.t", lake.schema, properties=properties)

    [row] = json.loads(run("status", "lake.t", "--json", *lake.options).stdout)

    assert (row["code"], row["behind"]["table"], row["behind"]["snapshots"]) == ("carried", "lake.t_cdc", 2)
    assert row["behind"]["watermark_ms"] == HOUR
    assert 0 <= row["behind"]["waiting_ms"] < HOUR
    assert "carried: follows lake.t_cdc, 2 snapshots (" in run("status", *lake.options).stdout
    assert 'finalization_base_behind_snapshots{table="lake.t"} 2' in run("export", *lake.options).stdout
    lake.client.catalog.drop_table("lake.t_cdc")
    [row] = json.loads(run("status", "lake.t", "--json", *lake.options).stdout)
    assert row["behind"] == {
        "table": "lake.t_cdc",
        "snapshots": None,
        "waiting_ms": None,
        "watermark_ms": None,
    }
