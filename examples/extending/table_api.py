"""The sink for users of the Table API."""

from pyflink.table import StreamTableEnvironment, Table

from examples.extending.audit import Audit
from sink_extensions import ExtensibleSink


def write(orders: Table) -> None:
    """One table in a job of its own; returns when all rows are committed."""
    sink = (
        ExtensibleSink("ice.shop.orders")
        .accumulators("revenue")
        .field_stats("customer", "ordered_at")
        .commit_processors(Audit)
        .option("sink.python.timeout", "PT10S")
    )
    sink.insert(orders).wait()


def write_both(t_env: StreamTableEnvironment, orders: Table, refunds: Table) -> None:
    """Two tables in one job."""
    audited = ExtensibleSink("ice.shop.orders").commit_processors(Audit)
    summed = ExtensibleSink("ice.shop.refunds").accumulators("revenue")
    statements = t_env.create_statement_set()
    audited.add_to(statements, orders)
    summed.add_to(statements, refunds)
    statements.execute().wait()
