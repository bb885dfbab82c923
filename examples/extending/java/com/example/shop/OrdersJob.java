package com.example.shop;

import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.util.ParameterTool;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.flink.CatalogLoader;
import org.apache.iceberg.flink.FlinkSchemaUtil;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.flink.sink.ExtensibleSink;
import org.apache.iceberg.flink.sink.IcebergSink;

/** Writes two orders into a table, with the sink's extensions. */
public final class OrdersJob {

  private OrdersJob() {}

  /** @param args {@code --table shop.orders --catalog NAME}, and the catalog's properties: {@code --uri …} */
  public static void main(String[] args) throws Exception {
    ParameterTool parameters = ParameterTool.fromArgs(args);
    CatalogLoader catalog =
        CatalogLoader.custom(
            parameters.get("catalog"),
            parameters.toMap(),
            new org.apache.hadoop.conf.Configuration(),
            parameters.get("catalog-impl"));
    TableLoader table = TableLoader.fromCatalog(catalog, TableIdentifier.parse(parameters.get("table")));
    Configuration configuration = Configuration.fromMap(parameters.toMap());
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    append(env.fromData(rowType(table), order(1, "ann", 500), order(2, "bob", 700)), table, configuration);
    env.execute("orders");
  }

  static void append(DataStream<RowData> orders, TableLoader table, Configuration configuration) {
    Map<String, String> options =
        Map.of("sink.accumulators", "revenue", "sink.commit-processors", "python:examples.extending.audit:Audit");
    IcebergSink.forRowData(ExtensibleSink.on(orders, options, configuration)).tableLoader(table).append();
  }

  private static InternalTypeInfo<RowData> rowType(TableLoader table) throws Exception {
    table.open();
    RowType rowType = FlinkSchemaUtil.convert(table.loadTable().schema());
    return InternalTypeInfo.of(rowType);
  }

  private static RowData order(long id, String customer, long cents) {
    return GenericRowData.of(id, StringData.fromString(customer), cents, TimestampData.fromEpochMillis(1_357_034_400_000L));
  }
}
