"""The history of the CDC table that a run must be able to walk, and the rebuild that does without."""

import pytest

from spark_upsert.exceptions import HistoryLostError
from spark_upsert.upsert import preview
from tests.spark_upsert.cdc_table import CdcTable, create_log_table
from tests.spark_upsert.test_publish import SuddenEnd, at

pytestmark = pytest.mark.integration

NINE, TEN = "2013-01-01T09:00:00Z", "2013-01-01T10:00:00Z"


def test_compaction_of_the_cdc_table_is_passed_over(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    cdc.changes(("u", 2, 1, "a2", 2))
    cdc.changes(("c", 3, 2, "b", 1))
    cdc.sql(
        f"CALL ice.system.rewrite_data_files(table => '{cdc.job.cdc}', options => map('rewrite-all', 'true'))"
    )
    assert cdc.catalog.load_table(cdc.job.cdc).current_snapshot().summary.operation.value == "replace"

    result = cdc.upsert()

    assert (result.snapshots, result.rows) == (2, 2)
    assert cdc.rows() == [(1, "a2", 2), (2, "b", 1)]


def test_rows_deleted_from_the_log_are_refused_until_a_rebuild(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1))
    cdc.upsert()
    cdc.sql("DELETE FROM {cdc} WHERE id = 1")
    cdc.changes(("c", 3, 3, "c", 1))

    with pytest.raises(HistoryLostError, match=r"(delete|overwrite)'.*--full"):
        cdc.upsert()
    assert len(cdc.rows()) == 2
    cdc.upsert(rebuild=True)

    assert cdc.rows() == [(2, "b", 1), (3, "c", 1)]


def test_expired_history_is_refused_until_a_rebuild(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    cdc.changes(("c", 2, 2, "b", 1))
    cdc.changes(("c", 3, 3, "c", 1))
    cdc.sql(
        f"CALL ice.system.expire_snapshots(table => '{cdc.job.cdc}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )

    with pytest.raises(HistoryLostError, match=r"expired.*--full"):
        cdc.upsert()
    assert cdc.upsert(rebuild=True).outcome == "published"

    assert cdc.rows() == [(1, "a", 1), (2, "b", 1), (3, "c", 1)]


def test_another_table_under_the_cdc_tables_name_is_refused_until_a_rebuild(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=TEN)
    cdc.upsert()
    cdc.catalog.drop_table(cdc.job.cdc)
    create_log_table(cdc.catalog, cdc.job.cdc, cdc.row_columns)
    cdc.changes(("c", 1, 7, "new", 1), watermark=NINE)

    with pytest.raises(HistoryLostError, match="another table"):
        cdc.upsert()
    cdc.upsert(rebuild=True)

    assert cdc.rows() == [(7, "new", 1)]
    # The old watermark spoke for other rows: the base table's is never above that of the log it comes from.
    assert cdc.properties()["finalization.watermark"] == NINE


@pytest.mark.faults
def test_a_rebuild_replaces_all_rows_by_one_commit(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 1), watermark=TEN)
    cdc.upsert()
    cdc.sql("UPDATE {base} SET name = 'damaged'")
    damaged = cdc.rows()

    def end() -> None:
        raise SuddenEnd

    with pytest.raises(SuddenEnd):
        cdc.upsert(rebuild=True, on_step=at("merged", end))
    assert cdc.rows() == damaged
    cdc.upsert(rebuild=True)

    assert cdc.rows() == [(1, "a", 1), (2, "b", 1)]
    assert cdc.properties()["finalization.watermark"] == TEN
    cdc.changes(("d", 3, 1, "", 0))
    cdc.upsert()
    assert cdc.rows() == [(2, "b", 1)]


def test_a_dry_run_says_what_would_be_read_and_writes_nothing(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    assert preview(cdc.spark, cdc.job).rows == 1
    assert not cdc.catalog.table_exists(cdc.job.base)
    cdc.upsert()
    before = cdc.base().metadata_location
    cdc.changes(("c", 2, 2, "b", 1), ("c", 3, 3, "c", 1), watermark=TEN)

    planned = preview(cdc.spark, cdc.job)

    assert (planned.outcome, planned.snapshots, planned.rows) == ("planned", 1, 2)
    assert (planned.watermark_before, planned.watermark) == (NINE, TEN)
    assert cdc.base().metadata_location == before
