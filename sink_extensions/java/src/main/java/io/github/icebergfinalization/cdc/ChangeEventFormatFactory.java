package io.github.icebergfinalization.cdc;

import java.util.Set;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.format.DecodingFormat;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DeserializationFormatFactory;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;

/**
 * The format {@code change-event-json}: Debezium change events as an append-only log.
 *
 * <p>Each change becomes one row of the table's own columns (the image after it; before it for deletes), with {@code _op},
 * {@code _source_ts}, {@code _position} and {@code _event_time}; a truncate has only those. What cannot be read becomes a row with {@code _error} and {@code _raw}
 * instead, and never an exception. See {@link ChangeEventDecoder}.
 */
public final class ChangeEventFormatFactory implements DeserializationFormatFactory {

  public static final String IDENTIFIER = "change-event-json";

  static final ConfigOption<String> EVENT_TIME_COLUMN =
      ConfigOptions.key("event-time-column")
          .stringType()
          .noDefaultValue()
          .withDescription("The column that _event_time is read from (dotted path); none: _event_time stays null.");

  static final ConfigOption<String> EVENT_TIME_FORMAT =
      ConfigOptions.key("event-time-format")
          .stringType()
          .noDefaultValue()
          .withDescription("How to read it, for BIGINT and STRING columns.");

  static final ConfigOption<Boolean> HEARTBEATS =
      ConfigOptions.key("heartbeats")
          .booleanType()
          .defaultValue(false)
          .withDescription("Whether a heartbeat gives a row of its own (_op 'heartbeat'), to move the watermark.");

  @Override
  public String factoryIdentifier() {
    return IDENTIFIER;
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of();
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of(EVENT_TIME_COLUMN, EVENT_TIME_FORMAT, HEARTBEATS);
  }

  @Override
  public DecodingFormat<DeserializationSchema<RowData>> createDecodingFormat(
      DynamicTableFactory.Context context, ReadableConfig options) {
    return new DecodingFormat<>() {
      @Override
      public DeserializationSchema<RowData> createRuntimeDecoder(
          DynamicTableSource.Context runtime, DataType physicalType) {
        TypeInformation<RowData> type = runtime.createTypeInformation(physicalType);
        return new ChangeEventDecoder(
            (RowType) physicalType.getLogicalType(),
            type,
            options.get(EVENT_TIME_COLUMN),
            options.get(EVENT_TIME_FORMAT),
            options.get(HEARTBEATS));
      }

      @Override
      public ChangelogMode getChangelogMode() {
        return ChangelogMode.insertOnly();
      }
    };
  }
}
