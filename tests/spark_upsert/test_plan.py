"""How Spark runs the merge."""

import re

import pytest

from tests.spark_upsert.cdc_table import UNAVAILABLE, CdcTable

pytestmark = pytest.mark.integration


def merge_plan(cdc: CdcTable, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs an upsert and returns the plan of the statement it merged with."""
    statements = []
    run = type(cdc.spark).sql

    def record(session, statement, *args, **options):
        statements.append(statement)
        return run(session, statement, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(type(cdc.spark), "sql", record)
        cdc.upsert()
    (merge,) = [statement for statement in statements if statement.startswith("MERGE")]
    on_main = re.sub(r"\.`branch_[^`]*`", "", merge)
    return str(cdc.spark.sql(f"EXPLAIN {on_main}").collect()[0][0])


def test_the_merge_shuffles_the_batch_and_never_the_base_table(
    cdc: CdcTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    cdc.changes(*[("c", i, i, "a", i) for i in range(1, 60)])
    cdc.upsert()
    cdc.changes(*[("u", 100 + i, i, "b", i) for i in range(1, 20)])

    plan = merge_plan(cdc, monkeypatch)

    join = plan[plan.index("SortMergeJoin") :]
    base_side, _, batch_side = join.partition(f"BatchScan ice.{cdc.job.base}")
    assert "Exchange" not in base_side
    assert "groupedBy=id_bucket" in batch_side.splitlines()[0]
    assert "Exchange keygroupedpartitioning" in batch_side
    assert "WriteDelta" in plan


def test_the_log_before_the_batch_is_read_only_if_the_batch_reaches_back(
    cdc: CdcTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    cdc.changes(("c", 10, 1, "a", 1), ("d", 11, 1, "", 0), ("c", 12, 2, "b", 1))
    cdc.upsert()
    cdc.changes(("u", 20, 2, "b2", 2))
    newer = merge_plan(cdc, monkeypatch)
    cdc.changes(("c", 10, 1, "a", 1))
    reaching_back = merge_plan(cdc, monkeypatch)

    assert newer.count(f"BatchScan ice.{cdc.job.cdc}") == 1
    assert reaching_back.count(f"BatchScan ice.{cdc.job.cdc}") == 2
    assert "_position > '00000000000000000010" in reaching_back
    assert cdc.rows() == [(2, "b2", 2)]


def test_only_the_partitions_of_changed_keys_are_written(cdc: CdcTable) -> None:
    cdc.changes(*[("c", i, i, "a", i) for i in range(1, 60)])
    cdc.upsert()
    assert cdc.base().current_snapshot().summary["changed-partition-count"] == "8"
    cdc.changes(("u", 100, 5, "b", 1), ("u", 101, 5, "c", 1))

    cdc.upsert()

    assert cdc.base().current_snapshot().summary["changed-partition-count"] == "1"


def test_base_columns_are_read_only_for_values_that_were_not_sent(
    cdc: CdcTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    cdc.changes(("u", 2, 1, "UPPER", 2), ("u", 3, 1, "lower", 2))
    without = merge_plan(cdc, monkeypatch)
    cdc.changes(("u", 4, 1, UNAVAILABLE, 2))
    unavailable = merge_plan(cdc, monkeypatch)

    def read_of_base(plan: str) -> str:
        return re.search(rf"BatchScan ice\.{re.escape(cdc.job.base)}\[([^\]]*)\]", plan)[1]

    assert "name#" not in read_of_base(without)
    assert "name#" in read_of_base(unavailable)
