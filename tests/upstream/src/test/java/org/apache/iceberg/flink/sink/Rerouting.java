package org.apache.iceberg.flink.sink;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.table.data.RowData;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.flink.ExtensibleCatalogFactory;
import org.apache.flink.table.catalog.CommonCatalogOptions;

/**
 * What a user of this project would have written in the test's place. Called from the code that {@link Interception}
 * adds.
 */
public final class Rerouting {

  static final Set<String> ACCUMULATORS = Set.of(RowCount.NAME, "field-stats");
  private static final String TYPE = CommonCatalogOptions.CATALOG_TYPE.key();
  private static final Configuration SESSION = new Configuration();

  private Rerouting() {}

  /**
   * Appends a standard sink through {@link ExtensibleSink}; null where the standard way shall be gone on.
   *
   * <p>Where the test made a catalog of our type, nothing is done: the sink has its extensions by then, or it is a
   * failure.
   */
  @SuppressWarnings("unchecked")
  public static DataStreamSink<?> sinkTo(DataStream<?> stream, Sink<?> sink) {
    if (sink instanceof ExtensibleIcebergSink) {
      Findings.SINKS.incrementAndGet();
    }
    if (!(sink instanceof IcebergSink standard)) {
      return null;
    }
    if (Findings.CATALOGS.get() > 0) {
      Findings.check(!OnOurSink.EXTENDED, "a table of our catalog type was written by the standard sink");
      Findings.SINKS.incrementAndGet();
      return null;
    }
    if (OnOurSink.EXTENDED) {
      String columns = String.join(",", IcebergSinkParts.rowType(standard).getFieldNames());
      return ExtensibleSink.on((DataStream<RowData>) stream, options(columns), SESSION).sinkTo(standard);
    }
    Findings.check(
        ExtensibleSink.on((DataStream<RowData>) stream, Map.of(), SESSION) == stream
            && ExtensibleIcebergSink.extend(standard, Extensions.of(Map.of(), SESSION)) == sink,
        "without extensions the stream or the sink is another one");
    Findings.SINKS.incrementAndGet();
    return null;
  }

  /** The options of {@code CREATE CATALOG}: our type, and extensions for all tables made in it. */
  public static Map<String, String> catalog(Map<String, String> options) {
    if (!"iceberg".equals(options.get(TYPE))) {
      return options;
    }
    Findings.CATALOGS.incrementAndGet();
    Map<String, String> ours = new HashMap<>(options);
    ours.put(TYPE, ExtensibleCatalogFactory.IDENTIFIER);
    if (OnOurSink.EXTENDED) {
      options("id").forEach((key, value) -> ours.put(CatalogProperties.TABLE_DEFAULT_PREFIX + key, value));
    }
    return ours;
  }

  /** The sink whose committer a test runs by itself. */
  public static SupportsCommitter<?> committer(SupportsCommitter<?> sink) {
    if (!(sink instanceof IcebergSink standard)) {
      return sink;
    }
    Findings.COMMITTERS.incrementAndGet();
    Map<String, String> options =
        OnOurSink.EXTENDED ? Map.of(Extensions.PROCESSORS, FactsCheck.class.getName()) : Map.of();
    return (SupportsCommitter<?>) ExtensibleIcebergSink.extend(standard, Extensions.of(options, SESSION));
  }

  private static Map<String, String> options(String columns) {
    return Map.of(
        Extensions.ACCUMULATORS, RowCount.class.getName() + ",field-stats",
        "sink.field-stats.columns", columns,
        Extensions.PROCESSORS, FactsCheck.class.getName());
  }
}
