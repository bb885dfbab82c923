"""What the base table holds after upserts."""

import pytest

from tests.spark_upsert.cdc_table import CdcTable

pytestmark = pytest.mark.integration

TEN, ELEVEN = "2013-01-01T10:00:00Z", "2013-01-01T11:00:00Z"


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
    cdc.changes(("c", 6, 4, "d", 4))

    result = cdc.upsert()

    assert (result.snapshots, result.rows) == (2, 3)
    assert cdc.rows() == [(1, "a2", 10), (3, "c", 3), (4, "d", 4)]
