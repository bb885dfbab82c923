"""Columns that change while the upsert goes on."""

import pytest
from pyiceberg.types import BooleanType, DecimalType, IntegerType, LongType, StringType

from finalization.catalog_config import CatalogConfig
from spark_upsert.exceptions import SchemaRefusedError
from spark_upsert.job import UpsertJob
from tests.spark_upsert.cdc_table import CdcTable, new_name

pytestmark = pytest.mark.integration


def test_new_columns_and_widened_types_flow_into_the_base_table(spark, catalog: CatalogConfig) -> None:
    columns = {"id": IntegerType(), "price": DecimalType(5, 2)}
    cdc = CdcTable(spark, catalog, new_name(), columns)
    cdc.changes(("c", 1, 1, 1), ("c", 2, 2, 2))
    cdc.upsert()
    with cdc.catalog.load_table(cdc.job.cdc).update_schema() as update:
        update.update_column("id", LongType())
        update.update_column("price", DecimalType(9, 2))
        update.add_column("note", StringType())
    cdc.row_columns = {"id": LongType(), "price": DecimalType(9, 2), "note": StringType()}
    cdc.changes(("u", 3, 1, 1_234_567, "hello"), ("c", 4, 5_000_000_000, 3, None))

    cdc.upsert()

    assert [(row[0], int(row[1]), row[2]) for row in cdc.rows()] == [
        (1, 1_234_567, "hello"),
        (2, 2, None),
        (5_000_000_000, 3, None),
    ]
    assert cdc.base().schema().identifier_field_names() == {"id"}
    assert cdc.base().schema().find_field("id").required


def test_a_column_that_left_the_cdc_table_keeps_its_values(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1), ("c", 2, 2, "b", 2))
    cdc.upsert()
    with cdc.catalog.load_table(cdc.job.cdc).update_schema() as update:
        update.delete_column("n")
    cdc.row_columns = {name: kind for name, kind in cdc.row_columns.items() if name != "n"}
    cdc.changes(("u", 3, 1, "a2"), ("c", 4, 3, "c"))

    cdc.upsert()

    assert [tuple(row) for row in cdc.sql("SELECT id, name, n FROM {base} ORDER BY id")] == [
        (1, "a2", 1),
        (2, "b", 2),
        (3, "c", None),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (IntegerType(), StringType()),
        (IntegerType(), BooleanType()),
        (IntegerType(), DecimalType(9, 2)),
        # Narrower: no value is lost yet, but it is not what the base table was made for.
        (LongType(), IntegerType()),
        (DecimalType(9, 2), DecimalType(5, 2)),
        (DecimalType(9, 2), DecimalType(9, 3)),
    ],
)
def test_a_narrower_type_or_one_of_another_kind_is_refused_with_what_to_do(
    spark, catalog: CatalogConfig, before, after
) -> None:
    columns = {"id": LongType(), "name": StringType(), "n": before}
    cdc = CdcTable(spark, catalog, new_name(), columns)
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    with cdc.catalog.load_table(cdc.job.cdc).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("n")
    with cdc.catalog.load_table(cdc.job.cdc).update_schema() as update:
        update.add_column("n", after)

    with pytest.raises(SchemaRefusedError, match=r"'n' is .* Give the column its old type"):
        cdc.upsert()


def test_another_key_is_refused_with_what_to_do(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    cdc.job = UpsertJob(cdc.job.catalog, cdc.job.cdc, cdc.job.base, ("id", "name"))

    with pytest.raises(SchemaRefusedError, match=r"the key of .* is \(id\), but primary-key is \(id, name\)"):
        cdc.upsert()


def test_a_log_without_its_own_columns_is_refused(cdc: CdcTable) -> None:
    with cdc.catalog.load_table(cdc.job.cdc).update_schema() as update:
        update.delete_column("_position")

    with pytest.raises(SchemaRefusedError, match="has no column _position"):
        cdc.upsert()


def test_a_log_column_whose_name_iceberg_reserves_is_left_alone(cdc: CdcTable) -> None:
    with cdc.catalog.load_table(cdc.job.cdc).update_schema() as update:
        update.add_column("_partition", IntegerType())
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    cdc.changes(("u", 2, 1, "a2", 2))

    cdc.upsert()

    assert cdc.rows() == [(1, "a2", 2)]
