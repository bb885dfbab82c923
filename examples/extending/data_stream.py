"""The sink for users of the DataStream API."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

from examples.extending.audit import Audit
from sink_extensions import ExtensibleSink

ORDER = Types.ROW_NAMED(
    ["id", "customer", "cents", "ordered_at"],
    [Types.LONG(), Types.STRING(), Types.LONG(), Types.INSTANT()],
)


def without_customer(order: Row) -> Row:
    """Orders as they may be kept for long."""
    return Row(id=order.id, customer=None, cents=order.cents, ordered_at=order.ordered_at)


def write(env: StreamExecutionEnvironment, t_env: StreamTableEnvironment, orders: DataStream) -> None:
    """Append a stream, as part of the job that `env.execute` starts."""
    sink = ExtensibleSink("ice.shop.orders").field_stats("customer", "cents").commit_processors(Audit)
    sink.append(orders.map(without_customer, ORDER), t_env)
    env.execute("orders")


class OrderTime(TimestampAssigner):
    """The timestamp of a record, in epoch milliseconds."""

    def extract_timestamp(self, order: Row, record_timestamp: int) -> int:
        return order.ordered_ms


def append_with_watermarks(t_env: StreamTableEnvironment, orders: DataStream) -> None:
    """The records' timestamps become a column, and the stream's watermarks reach the sink."""
    timed = orders.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OrderTime())
    )
    schema = (
        Schema.new_builder()
        .column("id", "BIGINT")
        .column("cents", "BIGINT")
        .column_by_metadata("ordered_at", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ordered_at", "SOURCE_WATERMARK()")
        .build()
    )
    ExtensibleSink("ice.shop.orders").field_stats("ordered_at").append(timed, t_env, schema)
