package org.apache.iceberg.flink.sink;

import java.util.Map;
import java.util.Optional;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.iceberg.flink.FlinkConfigOptions;
import org.apache.iceberg.flink.IcebergTableSink;
import org.apache.iceberg.flink.TableLoader;

/** The standard table sink, which gets its rows from a stream with the extensions switched on. */
public final class ExtensibleTableSink extends IcebergTableSink {

  private final TableLoader loader;
  private final ResolvedSchema schema;
  private final ReadableConfig config;
  private final Map<String, String> options;
  private boolean overwrite;

  private ExtensibleTableSink(
      TableLoader loader, ResolvedSchema schema, ReadableConfig config, Map<String, String> options) {
    super(loader, schema, new OnSinkV2(config), options);
    this.loader = loader;
    this.schema = schema;
    this.config = config;
    this.options = options;
  }

  /** The sink of a table; without any extension among the options, the plain standard one. */
  public static DynamicTableSink of(
      TableLoader loader, ResolvedSchema schema, ReadableConfig config, Map<String, String> options) {
    return Extensions.of(options, config).isEmpty()
        ? new IcebergTableSink(loader, schema, config, options)
        : new ExtensibleTableSink(loader, schema, config, options);
  }

  /**
   * For a sink that cannot be extended.
   *
   * @throws IllegalArgumentException if the options name extensions
   */
  public static void refuseExtensions(Map<String, String> options, ReadableConfig config) {
    if (!Extensions.of(options, config).isEmpty()) {
      throw new IllegalArgumentException(
          "'use-dynamic-iceberg-sink' is 'true', but the dynamic sink has no extensions; "
              + "unset it, or " + Extensions.ACCUMULATORS + ", " + Extensions.PROCESSORS
              + " and finalization.event-time-column");
    }
  }

  @Override
  public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
    DataStreamSinkProvider standard = (DataStreamSinkProvider) super.getSinkRuntimeProvider(context);
    return (DataStreamSinkProvider)
        (providerContext, stream) ->
            standard.consumeDataStream(providerContext, ExtensibleSink.on(stream, options, config));
  }

  @Override
  public void applyOverwrite(boolean newOverwrite) {
    overwrite = newOverwrite;
    super.applyOverwrite(newOverwrite);
  }

  @Override
  public DynamicTableSink copy() {
    ExtensibleTableSink copy = new ExtensibleTableSink(loader, schema, config, options);
    copy.applyOverwrite(overwrite);
    return copy;
  }

  /** The session's configuration with the SinkV2 sink chosen: the older one cannot carry facts to its commits. */
  private record OnSinkV2(ReadableConfig config) implements ReadableConfig {

    private static final ConfigOption<Boolean> USE_V2 = FlinkConfigOptions.TABLE_EXEC_ICEBERG_USE_V2_SINK;

    @Override
    public <T> T get(ConfigOption<T> option) {
      return option.equals(USE_V2) ? on(option) : config.get(option);
    }

    @Override
    public <T> Optional<T> getOptional(ConfigOption<T> option) {
      return option.equals(USE_V2) ? Optional.of(on(option)) : config.getOptional(option);
    }

    private static <T> T on(ConfigOption<T> option) {
      return new Configuration().set(USE_V2, true).get(option);
    }

    @Override
    public Map<String, String> toMap() {
      Configuration all = Configuration.fromMap(config.toMap());
      return all.set(USE_V2, true).toMap();
    }
  }
}
