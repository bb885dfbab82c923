"""A TRUNCATE of the source: refused, or applied to the rows it found and to no other."""

import pytest
from pyiceberg.types import IntegerType, LongType, StringType

from finalization.catalog_config import CatalogConfig
from spark_upsert.exceptions import ChangeRefusedError
from tests.spark_upsert.cdc_table import CdcTable, Change, new_name, position
from tests.spark_upsert.test_publish import SuddenEnd, at

pytestmark = pytest.mark.integration

NINE, TEN = "2013-01-01T09:00:00Z", "2013-01-01T10:00:00Z"
TRUNCATED = "upsert.truncated-at"


@pytest.fixture
def applying(spark, catalog: CatalogConfig) -> CdcTable:
    return CdcTable(spark, catalog, new_name(), truncate="apply")


def truncate(lsn: int) -> tuple[str, int]:
    return ("t", lsn)


def test_a_truncate_is_refused_until_the_pipeline_says_that_it_is_to_be_applied(
    spark, catalog: CatalogConfig
) -> None:
    name = new_name()
    cdc = CdcTable(spark, catalog, name)
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1), watermark=NINE)
    cdc.upsert()
    cdc.changes(("u", 3, 1, "a2", 2), truncate(4), ("c", 5, 3, "c", 1), watermark=TEN)

    with pytest.raises(
        ChangeRefusedError, match=r"truncated at position 0*4\.0*\. .* set upsert.truncate to apply"
    ):
        cdc.upsert()
    assert cdc.rows() == [(1, "a", 1), (2, "b", 1)]
    assert cdc.properties()["finalization.watermark"] == NINE
    assert list(cdc.base().refs()) == ["main"]

    refusing, cdc.job = cdc.job, cdc.job.__class__(**{**cdc.job.__dict__, "truncate": "apply"})
    cdc.upsert()
    assert cdc.rows() == [(3, "c", 1)]
    assert cdc.properties()["finalization.watermark"] == TEN
    # What was applied may come again: a restart of the connector is nothing to refuse.
    cdc.job = refusing
    cdc.changes(("u", 3, 1, "a2", 2), truncate(4), ("u", 6, 3, "c2", 2))
    cdc.upsert()
    assert cdc.rows() == [(3, "c2", 2)]
    cdc.upsert(rebuild=True)
    assert cdc.rows() == [(3, "c2", 2)]


def test_an_older_change_does_not_bring_a_row_back_in_whatever_batch_it_comes(applying: CdcTable) -> None:
    before = [("c", 10, 1, "a", 1), ("c", 11, 2, "b", 1), ("u", 12, 1, "a2", 2)]
    applying.changes(*before)
    applying.upsert()
    applying.changes(("u", 13, 2, "b2", 2), truncate(20), ("u", 13, 2, "b2", 2))
    applying.upsert()
    assert applying.rows() == []

    for batch in ([before[0]], [*before, truncate(20)], [("c", 30, 1, "new", 1)], before):
        applying.changes(*batch)
        applying.upsert()

    assert applying.rows() == [(1, "new", 1)]
    assert applying.properties()[TRUNCATED] == position(20)
    applying.upsert(rebuild=True)
    assert applying.rows() == [(1, "new", 1)]
    applying.changes(*before)
    applying.upsert()
    assert applying.rows() == [(1, "new", 1)]


def test_a_truncate_that_comes_late_takes_no_newer_row(applying: CdcTable) -> None:
    applying.changes(("c", 10, 1, "old", 1), ("c", 30, 2, "new", 1))
    applying.sql("CREATE TABLE {base} (id bigint NOT NULL, name string, n int) USING iceberg")
    applying.sql("INSERT INTO {base} VALUES (7, 'without a position', 1)")
    applying.upsert()
    assert len(applying.rows()) == 3
    # Messages without a key may go to another partition of the topic than the rows.
    applying.changes(truncate(20))

    applying.upsert()

    assert applying.rows() == [(2, "new", 1)]


def test_soft_deletes_mark_what_a_truncate_found(spark, catalog: CatalogConfig) -> None:
    cdc = CdcTable(spark, catalog, new_name(), deletes="soft", truncate="apply")
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1), ("d", 3, 2, "", 0), ("c", 4, 3, "c", 1))
    cdc.upsert()
    cdc.changes(truncate(10), ("c", 11, 3, "again", 2), ("u", 5, 1, "older", 2))

    cdc.upsert()

    rows = cdc.sql("SELECT id, name, _is_deleted, _position FROM {base} ORDER BY id")
    assert [tuple(row) for row in rows] == [
        (1, "a", True, position(10)),
        (2, "b", True, position(3)),
        (3, "again", False, position(11)),
    ]


@pytest.mark.parametrize("steps", [1, None])
def test_truncates_are_applied_in_steps_and_on_a_first_run(applying: CdcTable, steps: int | None) -> None:
    applying.changes(("c", 1, 1, "a", 1), truncate(2), ("c", 3, 2, "b", 1))
    applying.changes(("c", 4, 3, "c", 1))
    applying.changes(truncate(5), ("c", 6, 4, "d", 1), watermark=TEN)

    while applying.upsert(max_snapshots=steps).remaining:
        pass

    assert applying.rows() == [(4, "d", 1)]
    assert applying.properties()["finalization.watermark"] == TEN


@pytest.mark.faults
def test_rows_go_by_the_publishing_commit_and_not_before(applying: CdcTable) -> None:
    applying.changes(("c", 1, 1, "a", 1), watermark=NINE)
    applying.upsert()
    applying.changes(truncate(2), watermark=TEN)

    def end() -> None:
        raise SuddenEnd

    with pytest.raises(SuddenEnd):
        applying.upsert(on_step=at("merged", end))
    assert applying.rows() == [(1, "a", 1)]
    before = len(applying.base().metadata.snapshots)
    applying.upsert()

    assert applying.rows() == []
    snapshots = applying.base().metadata.snapshots[before:]
    # Rows are removed and changed by two snapshots; only the one that main moved to says what it holds.
    assert [snapshot.summary["finalization.watermark"] for snapshot in snapshots] == [None, TEN]
    assert applying.base().current_snapshot() == snapshots[-1]


def test_a_change_with_a_null_key_is_no_truncate(spark, catalog: CatalogConfig) -> None:
    columns = {"a": LongType(), "b": StringType(), "n": IntegerType()}
    cdc = CdcTable(spark, catalog, new_name(), columns, primary_key=("a", "b"), truncate="apply")
    cdc.sql("CREATE TABLE {base} (a bigint, b string, n int) USING iceberg")
    cdc.changes(("c", 1, None, None, 1), ("c", 2, 1, None, 2), ("c", 3, None, "x", 3))
    cdc.upsert()
    cdc.commit(Change("u", 4, {"n": 10}))
    cdc.upsert()
    assert set(cdc.rows()) == {(1, None, 2), (None, "x", 3), (None, None, 10)}

    cdc.commit(Change("t", 5, {}), Change("c", 6, {"n": 1}))
    cdc.upsert()

    assert cdc.rows() == [(None, None, 1)]
