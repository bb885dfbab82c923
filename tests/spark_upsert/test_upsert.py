"""What the base table holds after upserts."""

from datetime import UTC, datetime

import pytest
from pyiceberg.types import IntegerType, LongType, StringType

from finalization.catalog import FinalizationClient
from finalization.catalog_config import CatalogConfig
from spark_upsert.exceptions import ChangeRefusedError
from tests.spark_upsert.cdc_table import UNAVAILABLE, CdcTable, Change, new_name

pytestmark = pytest.mark.integration

TEN = "2013-01-01T10:00:00Z"


def test_first_run_creates_a_bucketed_base_table_with_data_watermark_and_cursor(cdc: CdcTable) -> None:
    pinned = cdc.changes(("r", 1, 1, "a", 1), ("r", 1, 2, "b", 2), watermark=TEN)

    result = cdc.upsert()

    assert (result.outcome, result.rows, result.watermark) == ("published", 2, TEN)
    assert cdc.rows() == [(1, "a", 1), (2, "b", 2)]
    base = cdc.base()
    assert base.properties["finalization.watermark"] == TEN
    assert base.properties["upsert.cdc-snapshot-id"] == str(pinned)
    assert base.schema().identifier_field_names() == {"id"}
    assert [str(field.transform) for field in base.spec().fields] == ["bucket[8]"]
    assert base.properties["write.merge.mode"] == "merge-on-read"
    assert list(base.refs()) == ["main"]


def test_changes_of_later_commits_are_merged(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 2), ("c", 3, 3, "c", 3))
    cdc.upsert()
    cdc.changes(("u", 4, 1, "a2", 10), ("d", 5, 2, "", 0))
    cdc.changes(("c", 6, 4, "d", 4), ("u", 7, 1, None, None))

    result = cdc.upsert()

    assert (result.snapshots, result.rows) == (2, 4)
    assert cdc.rows() == [(1, None, None), (3, "c", 3), (4, "d", 4)]


def test_copies_and_older_changes_that_come_again_do_nothing(cdc: CdcTable) -> None:
    first = [("c", 1, 1, "old", 1), ("u", 2, 1, "new", 2), ("c", 3, 2, "b", 1)]
    cdc.changes(*first)
    cdc.upsert()
    cdc.changes(*first, *first)
    cdc.changes(("u", 2, 1, "new", 2))

    cdc.upsert()

    assert cdc.rows() == [(1, "new", 2), (2, "b", 1)]


def test_a_deleted_row_is_not_resurrected_by_an_older_change_in_whatever_later_batch(cdc: CdcTable) -> None:
    cdc.changes(("c", 10, 1, "a", 1), ("c", 11, 2, "b", 1))
    cdc.upsert()
    cdc.changes(("u", 20, 1, "a2", 2), ("d", 30, 1, "", 0))
    cdc.upsert()
    assert cdc.rows() == [(2, "b", 1)]

    for batch in ([("u", 20, 1, "a2", 2)], [("c", 10, 1, "a", 1), ("c", 40, 3, "c", 1)]):
        cdc.changes(*batch)
        cdc.upsert()

    assert cdc.rows() == [(2, "b", 1), (3, "c", 1)]


def test_a_key_that_is_inserted_again_after_its_delete_comes_back(cdc: CdcTable) -> None:
    cdc.changes(("c", 10, 1, "a", 1), ("c", 11, 2, "b", 1))
    cdc.upsert()
    cdc.changes(("d", 20, 1, "", 0), ("d", 21, 2, "", 0), ("c", 22, 2, "b2", 2))
    cdc.upsert()
    cdc.changes(("d", 20, 1, "", 0), ("c", 30, 1, "again", 2))

    cdc.upsert()

    assert cdc.rows() == [(1, "again", 2), (2, "b2", 2)]


def test_a_key_change_with_one_lsn_moves_the_row(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 10, "alice", 1))
    cdc.upsert()
    fake_before = {"id": 10, "name": "", "n": 0}
    after = {"id": 11, "name": "alice", "n": 1}
    cdc.commit(Change("d", 5, fake_before, order=1), Change("c", 5, after, order=2))

    cdc.upsert()

    assert cdc.rows() == [(11, "alice", 1)]


def test_an_unchanged_toast_value_keeps_what_the_base_table_has(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "long one", 1), ("c", 2, 2, "long two", 1), ("c", 3, 3, "long three", 1))
    cdc.upsert()
    cdc.changes(
        ("u", 4, 1, UNAVAILABLE, 2),
        # the real value is in the middle of the batch
        ("u", 5, 2, UNAVAILABLE, 2),
        ("u", 6, 2, "longer two", 3),
        ("u", 7, 2, UNAVAILABLE, 4),
        # a real NULL is a value, too
        ("u", 8, 3, None, 2),
        ("u", 9, 3, UNAVAILABLE, 3),
        ("c", 10, 4, "long four", 1),
        ("u", 11, 4, UNAVAILABLE, 2),
    )

    cdc.upsert()

    assert cdc.rows() == [(1, "long one", 2), (2, "longer two", 4), (3, None, 3), (4, "long four", 2)]


def test_toast_values_are_found_on_the_first_run_and_told_apart_from_lost_ones(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "long", 1), ("u", 2, 1, UNAVAILABLE, 2), ("u", 3, 2, UNAVAILABLE, 2))

    cdc.upsert()

    # The log never had the value of the second row: the placeholder says so.
    assert cdc.rows() == [(1, "long", 2), (2, UNAVAILABLE, 2)]


def test_an_unchanged_toast_value_moves_along_when_the_key_changes(cdc: CdcTable) -> None:
    def renamed(lsn: int, old: int, new: int, n: int) -> tuple[Change, Change]:
        after = {"id": new, "name": UNAVAILABLE, "n": n}
        return (
            Change("d", lsn, {"id": old, "name": "", "n": 0}, order=1),
            Change("c", lsn, after, order=2),
        )

    cdc.changes(
        ("c", 1, 10, "older life", 1), ("d", 2, 10, "", 0), ("c", 3, 10, "long", 1), ("c", 4, 20, None, 1)
    )
    cdc.upsert()
    # Twice in one batch; the delete and its insert in two batches; a value of the same batch; a NULL that
    # moves.
    first, second = renamed(10, 10, 11, 2), renamed(20, 11, 12, 3)
    cdc.commit(*first, *second)
    third, fourth = renamed(30, 12, 13, 4), renamed(50, 20, 21, 2)
    cdc.commit(third[0])
    cdc.upsert(max_snapshots=1)
    assert cdc.rows() == [(12, "long", 3), (20, None, 1)]
    cdc.upsert()
    cdc.commit(
        third[1], Change("c", 40, {"id": 30, "name": "late", "n": 1}), *renamed(41, 30, 31, 2), *fourth
    )

    cdc.upsert()

    assert cdc.rows() == [(13, "long", 4), (21, None, 2), (31, "late", 2)]
    cdc.upsert(rebuild=True)
    assert cdc.rows() == [(13, "long", 4), (21, None, 2), (31, "late", 2)]
    # Values that moved went through views; a session that goes on for weeks does not collect them.
    assert not [row for row in cdc.sql("SHOW VIEWS") if row["isTemporary"]]


def test_composite_keys_and_odd_column_names(spark, catalog: CatalogConfig) -> None:
    columns = {"order": LongType(), "line no": StringType(), "it's `a`": IntegerType()}
    cdc = CdcTable(spark, catalog, new_name(), columns, primary_key=("order", "line no"))
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 1, "b", 2), ("c", 3, 2, "a", 3))
    cdc.upsert()
    cdc.changes(("u", 4, 1, "b", 20), ("d", 5, 2, "a", 0), ("c", 6, 2, "b", 4))

    cdc.upsert()

    assert cdc.rows() == [(1, "a", 1), (1, "b", 20), (2, "b", 4)]
    assert [str(field.transform) for field in cdc.base().spec().fields] == ["bucket[4]", "bucket[4]"]


def test_nullable_keys_are_matched_where_the_base_table_lets_them_be_null(
    spark, catalog: CatalogConfig
) -> None:
    cdc = CdcTable(spark, catalog, new_name())
    cdc.sql("CREATE TABLE {base} (id bigint, name string, n int) USING iceberg")
    cdc.changes(("c", 1, None, "nobody", 1), ("c", 2, 1, "a", 1))
    cdc.upsert()
    cdc.changes(("u", 3, None, "nobody", 2), ("d", 4, 1, "", 0))

    cdc.upsert()

    assert cdc.rows() == [(None, "nobody", 2)]


def test_soft_deletes_mark_the_row_and_keep_its_values(spark, catalog: CatalogConfig) -> None:
    cdc = CdcTable(spark, catalog, new_name(), deletes="soft")
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1))
    cdc.upsert()
    cdc.changes(("d", 3, 1, "", 0), ("c", 4, 3, "c", 1), ("d", 5, 3, "", 0), ("d", 6, 4, "", 0))
    cdc.upsert()
    cdc.changes(("c", 1, 1, "a", 1), ("c", 7, 2, "b2", 2))

    cdc.upsert()

    rows = cdc.sql("SELECT id, name, n, _is_deleted FROM {base} ORDER BY id")
    assert [tuple(row) for row in rows] == [
        (1, "a", 1, True),
        (2, "b2", 2, False),
        (3, "c", 1, True),
        (4, None, None, True),
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [(("x", 9, 1, None, None), "operation x"), (("u", 9, None, "x", 1), "key column 'id'")],
)
def test_what_cannot_be_merged_is_refused_and_the_base_table_untouched(cdc: CdcTable, change, text) -> None:
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    cdc.changes(change)

    with pytest.raises(ChangeRefusedError, match=text):
        cdc.upsert()

    assert cdc.rows() == [(1, "a", 1)]
    assert list(cdc.base().refs()) == ["main"]


@pytest.mark.parametrize(
    "properties",
    [
        "'format-version' = '3', 'write.merge.mode' = 'merge-on-read'",
        "'write.merge.mode' = 'copy-on-write'",
    ],
)
def test_a_table_made_beforehand_keeps_its_format_and_write_mode(cdc: CdcTable, properties: str) -> None:
    cdc.sql(
        "CREATE TABLE {base} (id bigint NOT NULL, name string, n int) USING iceberg "
        f"PARTITIONED BY (bucket(2, id)) TBLPROPERTIES ({properties})"
    )
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1))
    cdc.upsert()
    cdc.changes(("u", 3, 1, UNAVAILABLE, 2), ("d", 4, 2, "", 0))
    cdc.upsert()
    cdc.changes(("c", 2, 2, "b", 1), ("c", 5, 3, "c", 1))

    cdc.upsert()

    assert cdc.rows() == [(1, "a", 2), (3, "c", 1)]
    formats = [row[0] for row in cdc.sql("SELECT DISTINCT file_format FROM {base}.delete_files")]
    assert formats == (["PUFFIN"] if "'3'" in properties else [])


def test_a_new_base_table_has_the_pipelines_properties(spark, catalog: CatalogConfig) -> None:
    properties = {"format-version": "3", "write.delete.mode": "copy-on-write"}
    cdc = CdcTable(spark, catalog, new_name(), table_properties=properties)
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1), watermark=TEN)
    cdc.upsert()
    cdc.changes(("d", 3, 1, "", 0))
    cdc.upsert()

    assert cdc.rows() == [(2, "b", 1)]
    assert cdc.base().format_version == 3
    assert cdc.properties()["write.delete.mode"] == "copy-on-write"
    assert cdc.properties()["write.merge.mode"] == "merge-on-read"
    # Who waits for the watermark needs to read the table's metadata only, whatever its format.
    assert FinalizationClient.open(catalog).watermark(cdc.job.base) == datetime(2013, 1, 1, 10, tzinfo=UTC)


def test_columns_that_others_added_to_the_base_table_keep_their_values(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1))
    cdc.upsert()
    cdc.sql("ALTER TABLE {base} ADD COLUMN note string")
    cdc.sql("UPDATE {base} SET note = 'mine' WHERE id = 1")
    cdc.changes(("u", 3, 1, "a2", 2))

    cdc.upsert()

    assert [tuple(row) for row in cdc.sql("SELECT id, name, note FROM {base} ORDER BY id")] == [
        (1, "a2", "mine"),
        (2, "b", None),
    ]
