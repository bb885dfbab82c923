"""The watermark travels with the rows it speaks for."""

import pytest

from tests.spark_upsert.cdc_table import CdcTable
from tests.spark_upsert.test_publish import at

pytestmark = pytest.mark.integration

NINE, TEN, ELEVEN = (f"2013-01-01T{hour:02}:00:00Z" for hour in (9, 10, 11))


def test_data_watermark_and_cursor_become_visible_by_one_metadata_commit(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    cdc.upsert()
    pinned = cdc.changes(("c", 2, 2, "b", 1), watermark=TEN)
    seen = {}

    def look(step: str) -> None:
        base = cdc.base()
        seen[step] = (
            len(base.metadata.metadata_log),
            base.properties["finalization.watermark"],
            cdc.rows(),
        )

    cdc.upsert(on_step=look)

    assert seen["merged"][1:] == (NINE, [(1, "a", 1)])
    assert seen["published"] == (seen["merged"][0] + 1, TEN, [(1, "a", 1), (2, "b", 1)])
    summary = cdc.base().current_snapshot().summary
    assert summary["finalization.watermark"] == TEN
    assert summary["upsert.cdc-snapshot-id"] == str(pinned)


def test_a_newer_watermark_without_rows_is_one_commit_of_properties(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    before = cdc.base()
    cdc.set_watermark(TEN)

    result = cdc.upsert()
    again = cdc.upsert()

    after = cdc.base()
    assert (result.outcome, again.outcome) == ("properties-only", "nothing-new")
    assert after.properties["finalization.watermark"] == TEN
    assert after.current_snapshot() == before.current_snapshot()
    assert len(after.metadata.metadata_log) == len(before.metadata.metadata_log) + 1


def test_a_part_of_the_rows_does_not_carry_the_watermark_of_all(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    cdc.upsert()
    for lsn in (2, 3, 4):
        cdc.changes(("c", lsn, lsn, "b", 1), watermark=TEN)

    first = cdc.upsert(max_snapshots=2)
    watermark_between = cdc.properties()["finalization.watermark"]
    second = cdc.upsert(max_snapshots=2)

    assert (first.snapshots, first.remaining, watermark_between) == (2, 1, NINE)
    assert (second.snapshots, second.remaining, second.watermark) == (1, 0, TEN)
    assert len(cdc.rows()) == 4


@pytest.mark.parametrize("step", ["opened", "claimed", "merged"])
def test_rows_and_watermark_are_those_pinned_together_whatever_the_log_gets_meanwhile(
    cdc: CdcTable, step: str
) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    cdc.upsert()
    cdc.changes(("c", 2, 2, "b", 1), watermark=TEN)

    cdc.upsert(on_step=at(step, lambda: cdc.changes(("c", 3, 3, "c", 1), watermark=ELEVEN)))

    assert cdc.rows() == [(1, "a", 1), (2, "b", 1)]
    assert cdc.properties()["finalization.watermark"] == TEN
    cdc.upsert()
    assert cdc.rows() == [(1, "a", 1), (2, "b", 1), (3, "c", 1)]
    assert cdc.properties()["finalization.watermark"] == ELEVEN


def test_the_watermark_never_goes_back(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), watermark=ELEVEN)
    cdc.upsert()
    cdc.changes(("c", 2, 2, "b", 1), watermark=TEN)

    cdc.upsert()

    assert cdc.properties()["finalization.watermark"] == ELEVEN
    assert len(cdc.rows()) == 2
