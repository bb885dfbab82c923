package org.apache.iceberg.flink.sink;

import java.util.Map;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.table.data.RowData;

/**
 * Where users of the standard builder switch extensions on:
 *
 * <pre>{@code
 * IcebergSink.forRowData(ExtensibleSink.on(stream, options, conf)).tableLoader(loader).append();
 * }</pre>
 */
public final class ExtensibleSink {

  private ExtensibleSink() {}

  /**
   * The same stream, on which an appended {@link IcebergSink} gets the extensions that the options ask for. Every
   * choice of the builder keeps its meaning, since the standard builder itself does the building.
   *
   * @param options table properties with hints: {@code sink.accumulators}, {@code sink.commit-processors},
   *     {@code finalization.*}
   * @param config the session's configuration: where the Python interpreter of processors is looked up
   */
  public static DataStream<RowData> on(
      DataStream<RowData> stream, Map<String, String> options, ReadableConfig config) {
    Extensions extensions = Extensions.of(options, config);
    return extensions.isEmpty() ? stream : new ExtendingStream(stream, extensions);
  }

  private static final class ExtendingStream extends DataStream<RowData> {

    private final Extensions extensions;

    ExtendingStream(DataStream<RowData> stream, Extensions extensions) {
      super(stream.getExecutionEnvironment(), stream.getTransformation());
      this.extensions = extensions;
    }

    @Override
    public DataStreamSink<RowData> sinkTo(Sink<RowData> sink) {
      return super.sinkTo(
          sink instanceof IcebergSink standard ? ExtensibleIcebergSink.extend(standard, extensions) : sink);
    }
  }
}
