"""Failures and others at work between a run's first and last step."""

import pytest

from spark_upsert import leases
from spark_upsert.exceptions import MainMovedError, RivalPublishedError, UpsertError
from tests.spark_upsert.cdc_table import CdcTable, now_ms

pytestmark = pytest.mark.integration

NINE, TEN = "2013-01-01T09:00:00Z", "2013-01-01T10:00:00Z"


class SuddenEnd(BaseException):
    """As if the process had ended here: nothing cleans up after it."""


def at(step: str, action):
    """Does something when a step is done, the first time."""
    done = []

    def on_step(reached: str) -> None:
        if reached == step and not done:
            done.append(reached)
            action()

    return on_step


@pytest.fixture
def started(cdc: CdcTable) -> CdcTable:
    """A base table with one row, and a batch of two changes to come."""
    cdc.changes(("c", 1, 1, "a", 1), watermark=NINE)
    cdc.upsert()
    cdc.changes(("u", 2, 1, "a2", 2), ("c", 3, 2, "b", 1), watermark=TEN)
    return cdc


AFTER = [(1, "a2", 2), (2, "b", 1)]


@pytest.mark.faults
@pytest.mark.parametrize("step", ["opened", "claimed", "merged", "published"])
def test_a_sudden_end_leaves_the_base_table_untouched_or_complete_and_a_rerun_applies_once(
    started: CdcTable, step: str
) -> None:
    def end() -> None:
        raise SuddenEnd

    with pytest.raises(SuddenEnd):
        started.upsert(on_step=at(step, end))

    complete = step == "published"
    assert started.rows() == (AFTER if complete else [(1, "a", 1)])
    assert started.properties()["finalization.watermark"] == (TEN if complete else NINE)
    assert started.upsert().outcome == ("nothing-new" if complete else "published")
    assert started.rows() == AFTER
    assert started.properties()["finalization.watermark"] == TEN


def test_of_two_upserts_at_once_one_wins_and_the_other_says_so(started: CdcTable) -> None:
    with pytest.raises(RivalPublishedError, match="another upsert published"):
        started.upsert(on_step=at("merged", lambda: started.upsert()))

    assert started.rows() == AFTER
    assert list(started.base().refs()) == ["main"]
    assert started.upsert().outcome == "nothing-new"


def test_a_foreign_append_in_between_is_kept(started: CdcTable) -> None:
    append = "INSERT INTO {base} (id, name, n) VALUES (100, 'foreign', 1)"

    result = started.upsert(on_step=at("merged", lambda: started.sql(append)))

    assert result.attempts == 2
    assert started.rows() == [*AFTER, (100, "foreign", 1)]


def test_a_compaction_in_between_is_kept(started: CdcTable) -> None:
    compact = (
        f"CALL ice.system.rewrite_data_files(table => '{started.job.base}', "
        "options => map('rewrite-all', 'true'))"
    )

    result = started.upsert(on_step=at("claimed", lambda: started.sql(compact)))

    assert (result.attempts, started.rows()) == (2, AFTER)
    operations = [
        row[0] for row in started.sql("SELECT operation FROM {base}.snapshots ORDER BY committed_at")
    ]
    assert "replace" in operations


def test_a_property_changed_in_between_is_kept(started: CdcTable) -> None:
    change = "ALTER TABLE {base} SET TBLPROPERTIES ('team' = 'data')"

    result = started.upsert(on_step=at("merged", lambda: started.sql(change)))

    assert (result.attempts, started.rows()) == (1, AFTER)
    assert started.properties()["team"] == "data"


def test_who_is_always_overtaken_gives_up_without_a_trace(
    started: CdcTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_upsert.upsert.ATTEMPTS", 2)
    append = "INSERT INTO {base} (id, name, n) VALUES (100, 'foreign', 1)"

    with pytest.raises(MainMovedError, match="2 attempts"):
        started.upsert(on_step=lambda step: started.sql(append) if step == "merged" else None)

    assert started.rows() == [(1, "a", 1), (100, "foreign", 1), (100, "foreign", 1)]
    assert list(started.base().refs()) == ["main"]


def test_a_run_that_lost_its_branch_says_so_and_leaves_the_base_table_untouched(started: CdcTable) -> None:
    def clean_up() -> None:
        (branch,) = set(started.base().refs()) - {"main"}
        started.sql(f"ALTER TABLE {{base}} DROP BRANCH `{branch}`")

    with pytest.raises(UpsertError, match=r"longer than its lease.*--max-snapshots"):
        started.upsert(on_step=at("merged", clean_up))

    assert started.rows() == [(1, "a", 1)]
    assert started.properties()["finalization.watermark"] == NINE
    assert started.upsert().outcome == "published"
    assert started.rows() == AFTER


def test_leftover_branches_are_removed_and_a_live_rivals_is_not(started: CdcTable) -> None:
    over = [f"{kind}_{now_ms() - 1000}_aaaaaaaa" for kind in (leases.UPSERT, leases.MAINTENANCE)]
    alive = f"{leases.UPSERT}_{now_ms() + 60_000}_bbbbbbbb"
    for branch in (*over, alive, "audit"):
        started.sql(f"ALTER TABLE {{base}} CREATE BRANCH `{branch}`")

    started.upsert()

    assert set(started.base().refs()) == {"main", alive, "audit"}
