"""A wrong extension is an error when the job is submitted, whichever way it is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pyflink.common import Types
from pyflink.java_gateway import get_gateway
from pyflink.util.java_utils import to_jarray

from examples.extending.shop import IDS, Shop
from finalization.exceptions import ConfigurationError
from sink_extensions import ExtensibleSink, sql

pytestmark = pytest.mark.integration

ORDERS = "ice.shop.orders"
PYTHON = (
    "sink.commit-processors names 'python:{}', which does not load .*; expected python:package.module:Class"
)
WRONG: dict[str, tuple[dict[str, str], str]] = {
    "accumulator of no such name": (
        {"sink.accumulators": "revenue, nope"},
        r"sink\.accumulators names .*'nope' is neither a known name \[event-time, field-stats, revenue\]",
    ),
    "class that is no accumulator": (
        {"sink.accumulators": "com.example.shop.SnowflakeId"},
        r"sink\.accumulators names .*SnowflakeId' is not a .*\.Accumulator; let the class implement it",
    ),
    "column that is not there": (
        {"sink.accumulators": "field-stats", "sink.field-stats.columns": "cents,nope"},
        r"sink\.field-stats\.columns is 'nope', but there is no 'nope'; fields: \[id, customer, ",
    ),
    "no column": (
        {"sink.accumulators": "field-stats"},
        r"field-stats accumulator needs sink\.field-stats\.columns: names of columns",
    ),
    "column that an accumulator of the user refuses": (
        {"sink.accumulators": "revenue", "sink.revenue.column": "customer"},
        r"sink\.revenue\.column is 'customer'; expected a BIGINT column out of \[id, ",
    ),
    "processor of no such name": (
        {"sink.commit-processors": "revenue-gate,nope"},
        r"sink\.commit-processors names .*'nope' is neither a known name \[revenue-gate\] nor a class",
    ),
    "class that is no processor": (
        {"sink.commit-processors": "com.example.shop.Revenue"},
        r"sink\.commit-processors names .*Revenue' is not a .*\.CommitProcessor; let the class impl",
    ),
    "what to do when a processor fails": (
        {"sink.commit-processors": "revenue-gate", "sink.commit-processors.on-failure": "ignore"},
        r"sink\.commit-processors\.on-failure is 'ignore'; expected 'fail' or 'log'",
    ),
    "event time that is not there": (
        {"finalization.event-time-column": "nope"},
        r"finalization\.event-time-column is 'nope', but there is no 'nope'; fields: \[id, ",
    ),
    "event-time reader of no such name": (
        {"finalization.event-time-column": "id", "finalization.event-time-format": "nope"},
        r"finalization\.event-time-format is 'nope' for the BIGINT column 'id'; expected .* name or class",
    ),
    "class that is no event-time reader": (
        {
            "finalization.event-time-column": "id",
            "finalization.event-time-format": "com.example.shop.Revenue",
        },
        r"Revenue' is not a .*\.api\.EventTimeReader; let the class implement it",
    ),
    "module that is not there": (
        {"sink.commit-processors": "python:no.such.module:Audit"},
        PYTHON.format("no.such.module:Audit")
        + ".*module 'no.such.module' does not import: No module named 'no'",
    ),
    "module that does not import": (
        {"sink.commit-processors": "python:tests.integration.processors_of_a_broken_module:Processor"},
        PYTHON.format(".*:Processor") + ".*does not import: No module named 'no_such_module'",
    ),
    "name that the module does not have": (
        {"sink.commit-processors": "python:examples.extending.audit:Nope"},
        PYTHON.format(".*:Nope") + r".*module 'examples\.extending\.audit' has no class 'Nope'",
    ),
    "Python class that is no processor": (
        {"sink.commit-processors": "python:tests.integration.processors:NotAProcessor"},
        PYTHON.format(".*:NotAProcessor") + r".*has no method pre_commit\(context\)",
    ),
    "Python class that needs an argument": (
        {"sink.commit-processors": "python:tests.integration.processors:NeedsAnArgument"},
        PYTHON.format(".*:NeedsAnArgument") + ".*missing 1 required positional argument: 'limit'",
    ),
    "Python processor without class": (
        {"sink.commit-processors": "python:examples.extending.audit"},
        PYTHON.format("examples.extending.audit") + ".*not of the form package.module:Class",
    ),
    "time that is no duration": (
        {"sink.commit-processors": "python:examples.extending.audit:Audit", "sink.python.timeout": "1 min"},
        r"sink\.python\.timeout is '1 min'; expected an ISO-8601 duration such as PT60S",
    ),
    "interpreter that is not there": (
        {
            "sink.commit-processors": "python:examples.extending.audit:Audit",
            "sink.python.executable": "/no/such/python",
        },
        r"does not load with /no/such/python; .*another interpreter: sink\.python\.executable",
    ),
}


def by_properties(shop: Shop, options: Mapping[str, str]) -> None:
    shop.t_env.execute_sql(f"ALTER TABLE {ORDERS} SET ({sql.options(options)})")
    shop.t_env.execute_sql(f"INSERT INTO {ORDERS} SELECT * FROM incoming")


def by_hints(shop: Shop, options: Mapping[str, str]) -> None:
    hints = ExtensibleSink(ORDERS, options).hints()
    shop.t_env.execute_sql(f"INSERT INTO {ORDERS} {hints} SELECT * FROM incoming")


def by_the_builder_for_tables(shop: Shop, options: Mapping[str, str]) -> None:
    ExtensibleSink(ORDERS, options).insert(shop.incoming())


def by_the_builder_for_statement_sets(shop: Shop, options: Mapping[str, str]) -> None:
    statements = shop.t_env.create_statement_set()
    ExtensibleSink(ORDERS, options).add_to(statements, shop.incoming())
    statements.execute()


def by_the_builder_for_streams(shop: Shop, options: Mapping[str, str]) -> None:
    ExtensibleSink(ORDERS, options).append(shop.stream(), shop.t_env)


def by_the_java_builder(shop: Shop, options: Mapping[str, str]) -> None:
    jvm = get_gateway().jvm
    iceberg: Any = jvm.org.apache.iceberg
    properties = {**shop.catalog.flink_properties(), "sink.python.executable": "python3"}
    loader = iceberg.flink.TableLoader.fromCatalog(
        iceberg.flink.CatalogLoader.custom(
            "ice",
            java_map(properties),
            jvm.org.apache.hadoop.conf.Configuration(),
            properties["catalog-impl"],
        ),
        iceberg.catalog.TableIdentifier.parse("shop.orders"),
    )
    loader.open()
    row_type = iceberg.flink.FlinkSchemaUtil.convert(loader.loadTable().schema())
    rows = jvm.java.util.ArrayList()
    fields = to_jarray(jvm.Object, [IDS[0], None, None, None])
    rows.add(jvm.org.apache.flink.table.data.GenericRowData.of(fields))
    stream = shop.env._j_stream_execution_environment.fromData(
        rows, jvm.org.apache.flink.table.runtime.typeutils.InternalTypeInfo.of(row_type)
    )
    configuration = shop.t_env.get_config().get_configuration()._j_configuration
    extended = iceberg.flink.sink.ExtensibleSink.on(stream, java_map(options), configuration)
    iceberg.flink.sink.IcebergSink.forRowData(extended).tableLoader(loader).append()


def java_map(values: Mapping[str, str]) -> Any:
    result = get_gateway().jvm.java.util.HashMap()
    for key, value in values.items():
        result.put(key, value)
    return result


ROUTES: list[Callable[[Shop, Mapping[str, str]], None]] = [
    by_properties,
    by_hints,
    by_the_builder_for_tables,
    by_the_builder_for_statement_sets,
    by_the_builder_for_streams,
    by_the_java_builder,
]
PLAIN = (by_the_builder_for_tables, by_the_builder_for_streams)
"""Where the builder itself submits, its error is Python's, with Java's as the cause."""


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_it_is_refused_when_it_is_submitted(
    shop: Shop, route: Callable[[Shop, Mapping[str, str]], None], wrong: str
) -> None:
    options, message = WRONG[wrong]
    with pytest.raises(ConfigurationError if route in PLAIN else Exception, match=message):
        route(shop, options)
    assert shop.table().current_snapshot() is None


def test_what_was_refused_leaves_nothing_in_the_job(shop: Shop) -> None:
    with pytest.raises(ConfigurationError):
        by_the_builder_for_streams(shop, {"sink.accumulators": "nope"})
    ExtensibleSink(ORDERS).accumulators("revenue").append(shop.stream(), shop.t_env)
    shop.env.execute()
    assert shop.summary()["accumulator.revenue.cents"] == "2000"


def test_a_catalog_without_extensions_is_refused(shop: Shop) -> None:
    options = {"type": "iceberg", **shop.catalog.flink_properties()}
    shop.t_env.execute_sql(f"CREATE CATALOG plain WITH ({sql.options(options)})")
    expected = r"catalog 'plain' is a FlinkCatalog, whose sinks .*; expected .*'iceberg-extensible'"
    with pytest.raises(ConfigurationError, match=expected):
        ExtensibleSink("plain.shop.orders").accumulators("revenue").insert(shop.incoming())


def test_the_current_catalog_is_looked_at_where_the_path_names_none(shop: Shop) -> None:
    with pytest.raises(ConfigurationError, match="catalog 'default_catalog' is a GenericInMemoryCatalog"):
        ExtensibleSink("orders").accumulators("revenue").insert(shop.incoming())


def test_a_catalog_that_is_not_there_is_named(shop: Shop) -> None:
    with pytest.raises(ConfigurationError, match=r"table is 'nope\.shop\.orders'; expected a catalog out of"):
        ExtensibleSink("nope.shop.orders").insert(shop.incoming())


def test_a_table_that_is_not_there_is_named(shop: Shop) -> None:
    with pytest.raises(ConfigurationError, match="nope"):
        ExtensibleSink("ice.shop.nope").insert(shop.incoming())


def test_columns_that_the_target_does_not_have_are_named(shop: Shop) -> None:
    renamed = shop.incoming().alias("id", "client", "cents", "ordered_at")
    with pytest.raises(
        ConfigurationError, match="has no column client; it has id, customer, cents, ordered_at"
    ):
        ExtensibleSink(ORDERS).insert(renamed)


def test_a_stream_without_named_fields_is_refused(shop: Shop) -> None:
    numbers = shop.env.from_collection([1, 2], Types.LONG())
    with pytest.raises(
        ConfigurationError, match=r"expected rows with named fields.*output_type=Types\.ROW_NAMED"
    ):
        ExtensibleSink(ORDERS).append(numbers, shop.t_env)


def test_a_value_with_quotes_arrives_as_it_is(shop: Shop) -> None:
    with pytest.raises(ConfigurationError, match=r"sink\.field-stats\.columns is 'it's'"):
        ExtensibleSink(ORDERS).field_stats("it's").insert(shop.incoming())
