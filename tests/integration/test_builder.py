"""What the Python builder writes, beside the examples of docs/extending.md."""

from __future__ import annotations

import pytest
from pyflink.common import Row, RowKind, Types
from pyflink.table import ChangelogMode, Schema

from examples.extending.shop import CENTS, IDS, Shop
from flink_jobs.environment import create_environment
from sink_extensions import ExtensibleSink, sql

pytestmark = pytest.mark.integration

ORDERS = ExtensibleSink("ice.shop.orders")


def test_columns_go_to_those_of_their_names_and_others_are_null(shop: Shop) -> None:
    shop.t_env.execute_sql("CREATE TEMPORARY VIEW `a``b` AS SELECT cents, id FROM incoming")
    ExtensibleSink("ice.`shop`.orders").insert(shop.t_env.from_path("`a``b`")).wait()
    rows = shop.table().scan().to_arrow().to_pylist()
    assert [(row["id"], row["cents"], row["customer"]) for row in rows] == [
        (number, cents, None) for number, cents in zip(IDS, CENTS, strict=True)
    ]


def test_a_changelog_keeps_the_newest_row_of_each_key(shop: Shop) -> None:
    shop.t_env.execute_sql(
        "CREATE TABLE ice.shop.balances (id BIGINT NOT NULL, cents BIGINT, PRIMARY KEY (id) NOT ENFORCED) "
        "WITH ('format-version' = '2', 'write.upsert.enabled' = 'true')"
    )
    rows = [Row(1, 10), Row(1, 11), Row(2, 20)]
    rows[1].set_row_kind(RowKind.UPDATE_AFTER)
    stream = shop.env.from_collection(rows, Types.ROW_NAMED(["id", "cents"], [Types.LONG(), Types.LONG()]))
    keyed = Schema.new_builder().column("id", "BIGINT NOT NULL").column("cents", "BIGINT").primary_key("id")
    changes = shop.t_env.from_changelog_stream(stream, keyed.build(), ChangelogMode.upsert())
    statements = shop.t_env.create_statement_set()
    ExtensibleSink("ice.shop.balances").field_stats("cents").add_to(statements, changes)
    statements.attach_as_datastream()
    shop.env.execute()
    assert shop.summary("shop.balances")["accumulator.field-stats.cents.max"] == "20"
    with shop.t_env.execute_sql("SELECT id, cents FROM ice.shop.balances").collect() as found:
        assert sorted((row[0], row[1]) for row in found) == [(1, 11), (2, 20)]


def test_overwriting_in_batch_mode_replaces_the_rows(shop: Shop) -> None:
    batch = create_environment(
        {"execution.runtime-mode": "BATCH", "parallelism.default": "1", "rest.bind-address": "127.0.0.1"}
    )
    options = {"type": "iceberg-extensible", **shop.catalog.flink_properties()}
    batch.execute_sql(f"CREATE CATALOG ice WITH ({sql.options(options)})")
    for number in (5, 6):
        rows = batch.sql_query(f"SELECT CAST({number} AS BIGINT) AS id")
        ORDERS.field_stats("id").insert(rows, overwrite=number == 6).wait()
    assert shop.table().scan().to_arrow()["id"].to_pylist() == [6]
    assert shop.summary()["accumulator.field-stats.id.min"] == "6"
