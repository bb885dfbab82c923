package io.github.icebergfinalization.cdc;

import io.github.icebergfinalization.eventtime.EventTimeExtractor;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.DeserializationFeature;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.RowType;

/**
 * Reads one Debezium JSON message, with or without its schema block.
 *
 * <p>Tombstones, transaction records, heartbeats and logical messages are no changes of a row: they give no row. A truncate
 * gives a row with its place in the log and none of the table's own columns. Anything else that is not a change this decoder
 * understands gives a row with {@code _error} (why) and {@code _raw} (the bytes as received), and no other column.
 */
final class ChangeEventDecoder implements DeserializationSchema<RowData> {

  private static final long serialVersionUID = 1L;
  private static final Set<String> CHANGES = Set.of("c", "u", "d", "r", "t");
  private static final String TRUNCATE = "t";
  private static final String LOGICAL_MESSAGE = "m";
  private static final String SNAPSHOT_READ = "r";
  private static final StringData HEARTBEAT = StringData.fromString("heartbeat");

  // Years that every reader of the table can represent; what lies beyond is no believable event time anyway.
  private static final long FIRST_INSTANT = Instant.parse("0001-01-01T00:00:00Z").toEpochMilli();
  private static final long LAST_INSTANT = Instant.parse("9999-12-31T23:59:59Z").toEpochMilli();

  private final RowType rowType;
  private final TypeInformation<RowData> producedType;
  private final ImageReader image;
  private final int op;
  private final int sourceTs;
  private final int position;
  private final int eventTime;
  private final EventTimeExtractor eventTimeExtractor;
  private final int error;
  private final int raw;
  private final boolean heartbeats;
  private transient ObjectMapper json;

  /**
   * @param eventTimeColumn the column that {@code _event_time} is read from, or null: it stays null then
   * @param heartbeats whether a heartbeat gives a row with nothing but {@code _op} 'heartbeat': the message's own time then
   *     moves the source's watermark, and the row is left out behind it
   */
  ChangeEventDecoder(
      RowType rowType,
      TypeInformation<RowData> producedType,
      String eventTimeColumn,
      String eventTimeFormat,
      boolean heartbeats) {
    this.rowType = rowType;
    this.producedType = producedType;
    this.heartbeats = heartbeats;
    this.op = rowType.getFieldIndex("_op");
    this.sourceTs = rowType.getFieldIndex("_source_ts");
    this.position = rowType.getFieldIndex("_position");
    this.eventTime = rowType.getFieldIndex("_event_time");
    this.eventTimeExtractor =
        eventTimeColumn == null ? null : EventTimeExtractor.of(rowType, eventTimeColumn, eventTimeFormat);
    this.error = rowType.getFieldIndex("_error");
    this.raw = rowType.getFieldIndex("_raw");
    if (op < 0 || sourceTs < 0 || position < 0 || eventTime < 0 || error < 0 || raw < 0) {
      throw new IllegalArgumentException(
          "the format '" + ChangeEventFormatFactory.IDENTIFIER + "' needs the columns _op STRING, _source_ts "
              + "TIMESTAMP_LTZ(3), _position STRING, _event_time TIMESTAMP_LTZ(3), _error STRING and _raw BYTES; columns are " + rowType.getFieldNames());
    }
    this.image = new ImageReader(rowType, List.of(op, sourceTs, position, eventTime, error, raw));
  }

  @Override
  public void open(InitializationContext context) {
    json = new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
  }

  @Override
  public RowData deserialize(byte[] message) {
    if (message == null || message.length == 0) {
      return null;
    }
    try {
      return decode(json.readTree(message));
    } catch (IOException e) {
      return unreadable(message, "not JSON: " + firstLine(e));
    } catch (RuntimeException e) {
      return unreadable(message, firstLine(e));
    }
  }

  private RowData decode(JsonNode message) {
    JsonNode envelope = message.path("schema").isObject() && message.has("payload") ? message.get("payload") : message;
    if (envelope.isNull()) {
      return null;
    }
    JsonNode source = envelope.path("source");
    String operation = envelope.path("op").asText("");
    if (isHeartbeat(envelope)) {
      return heartbeats ? heartbeat() : null;
    }
    if (isControl(envelope, operation)) {
      return null;
    }
    if (!CHANGES.contains(operation) || !source.isObject()) {
      throw new IllegalArgumentException(
          operation.isEmpty() || !source.isObject()
              ? "no Debezium envelope: it needs op, source and the row's image"
              : "operation '" + operation + "' is no change of a row");
    }
    GenericRowData decoded = new GenericRowData(rowType.getFieldCount());
    if (!operation.equals(TRUNCATE)) {
      readImage(envelope, operation, decoded);
    }
    decoded.setField(op, StringData.fromString(operation));
    decoded.setField(sourceTs, TimestampData.fromEpochMillis(number(source, "ts_ms")));
    decoded.setField(position, StringData.fromString(position(source, envelope.path("transaction"))));
    decoded.setField(eventTime, operation.equals(SNAPSHOT_READ) ? null : eventTime(decoded));
    return decoded;
  }

  private void readImage(JsonNode envelope, String operation, GenericRowData decoded) {
    String side = operation.equals("d") ? "before" : "after";
    JsonNode row = envelope.path(side);
    if (!row.isObject()) {
      throw new IllegalArgumentException("a change with op '" + operation + "' needs an object '" + side + "'");
    }
    image.read(row, decoded);
  }

  /** A snapshot's rows say nothing about when they changed; they have no event time. */
  private TimestampData eventTime(RowData row) {
    long epochMs =
        eventTimeExtractor == null ? EventTimeExtractor.MISSING : eventTimeExtractor.epochMillis(row);
    return epochMs == EventTimeExtractor.MISSING
        ? null
        : TimestampData.fromEpochMillis(Math.min(Math.max(epochMs, FIRST_INSTANT), LAST_INSTANT));
  }

  /** Heartbeats have a time and nothing else. */
  private static boolean isHeartbeat(JsonNode envelope) {
    return envelope.size() == 1 && envelope.has("ts_ms");
  }

  private RowData heartbeat() {
    GenericRowData row = new GenericRowData(rowType.getFieldCount());
    row.setField(op, HEARTBEAT);
    return row;
  }

  /** Transaction records have a status and an id, logical messages an operation of their own. */
  private static boolean isControl(JsonNode envelope, String operation) {
    return operation.equals(LOGICAL_MESSAGE)
        || (operation.isEmpty() && !envelope.has("source") && envelope.has("status") && envelope.has("id"));
  }

  /** Sortable text: changes of a key follow the log, and within one log position their order in the transaction. */
  private static String position(JsonNode source, JsonNode transaction) {
    return String.format("%020d.%010d", number(source, "lsn"), transaction.path("total_order").asLong(0));
  }

  private static long number(JsonNode parent, String field) {
    JsonNode value = parent.path(field);
    if (!value.canConvertToLong() || value.isFloatingPointNumber()) {
      throw new IllegalArgumentException("source." + field + " is " + value + "; expected a whole number");
    }
    return value.asLong();
  }

  private RowData unreadable(byte[] message, String reason) {
    GenericRowData row = new GenericRowData(rowType.getFieldCount());
    row.setField(error, StringData.fromString(reason));
    row.setField(raw, message);
    return row;
  }

  private static String firstLine(Exception e) {
    return String.valueOf(e.getMessage()).lines().findFirst().orElse(e.getClass().getSimpleName());
  }

  @Override
  public boolean isEndOfStream(RowData nextElement) {
    return false;
  }

  @Override
  public TypeInformation<RowData> getProducedType() {
    return producedType;
  }
}
