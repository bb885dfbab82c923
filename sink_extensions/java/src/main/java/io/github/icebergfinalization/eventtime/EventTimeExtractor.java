package io.github.icebergfinalization.eventtime;

import io.github.icebergfinalization.api.EventTimeReader;
import io.github.icebergfinalization.api.Plugins;
import io.github.icebergfinalization.rows.ColumnPath;
import java.io.Serializable;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.util.Locale;
import java.util.Optional;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

/** Reads the event time of a row, in epoch milliseconds. */
public abstract class EventTimeExtractor implements Serializable {

  static final String COLUMN_KEY = "finalization.event-time-column";
  static final String FORMAT_KEY = "finalization.event-time-format";

  /** Returned for a missing or unparsable event time. */
  public static final long MISSING = EventTimeReader.MISSING;

  /** Returned for instants before or after what milliseconds in a long can hold: outside every bound. */
  public static final long TOO_EARLY = Long.MIN_VALUE + 1;

  public static final long TOO_LATE = Long.MAX_VALUE;

  /** The event time of the row, {@link #MISSING}, or a value that saturates at {@link #TOO_EARLY} or {@link #TOO_LATE}. */
  public abstract long epochMillis(RowData row);

  /**
   * An extractor for a column, by dotted path.
   *
   * @param format needed for BIGINT and STRING columns; or the name or class of an {@link EventTimeReader}
   * @throws IllegalArgumentException naming the key, the value received and what would be right
   */
  public static EventTimeExtractor of(RowType rowType, String column, String format) {
    Optional<EventTimeReader> reader =
        format == null ? Optional.empty() : Plugins.find(format, EventTimeReader.class, EventTimeReader::name);
    if (reader.isPresent()) {
      reader.get().open(rowType, column);
      return new Plugged(reader.get());
    }
    ColumnPath path = ColumnPath.of(rowType, column, COLUMN_KEY);
    EventTimeExtractor leaf = ofField(path.index(), path.type(), column, format);
    return path.parents().length == 0 ? leaf : new Nested(path, leaf);
  }

  private static EventTimeExtractor ofField(int index, LogicalType type, String column, String format) {
    switch (type.getTypeRoot()) {
      case TIMESTAMP_WITHOUT_TIME_ZONE:
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return new Timestamp(index, LogicalTypeChecks.getPrecision(type));
      case DATE:
        return new Scaled(index, Duration.ofDays(1).toMillis(), 1, true);
      case BIGINT:
        return ofNumber(index, column, format);
      case CHAR:
      case VARCHAR:
        return new Text(index, column, format);
      default:
        throw new IllegalArgumentException(
            COLUMN_KEY + " is '" + column + "' of type " + type + "; expected a TIMESTAMP, TIMESTAMP_LTZ, DATE, BIGINT "
                + "or STRING column");
    }
  }

  private static EventTimeExtractor ofNumber(int index, String column, String format) {
    switch (format == null ? "" : format) {
      case "epoch-seconds":
        return new Scaled(index, 1000, 1, false);
      case "epoch-millis":
        return new Scaled(index, 1, 1, false);
      case "epoch-micros":
        return new Scaled(index, 1, 1000, false);
      case "epoch-nanos":
        return new Scaled(index, 1, 1_000_000, false);
      case "tso":
        // TiDB's timestamp oracle: 18 low bits of logical clock below the milliseconds.
        return new Scaled(index, 1, 1L << 18, false);
      default:
        throw new IllegalArgumentException(
            FORMAT_KEY + " is " + (format == null ? "not set" : "'" + format + "'") + " for the BIGINT column '" + column
                + "'; expected epoch-seconds, epoch-millis, epoch-micros, epoch-nanos, tso, or the name or class of an "
                + EventTimeReader.class.getSimpleName());
    }
  }

  private static DateTimeFormatter formatter(String column, String format) {
    if (format == null || format.equals("iso-8601")) {
      return DateTimeFormatter.ISO_DATE_TIME;
    }
    try {
      return DateTimeFormatter.ofPattern(format, Locale.ROOT);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          FORMAT_KEY + " is '" + format + "' for the STRING column '" + column
              + "'; expected iso-8601 or a java.time pattern such as yyyy-MM-dd HH:mm:ss", e);
    }
  }

  private static final class Timestamp extends EventTimeExtractor {
    private final int index;
    private final int precision;

    Timestamp(int index, int precision) {
      this.index = index;
      this.precision = precision;
    }

    @Override
    public long epochMillis(RowData row) {
      return row.isNullAt(index) ? MISSING : row.getTimestamp(index, precision).getMillisecond();
    }
  }

  /** A whole number: days (an INT in rows), or a BIGINT of some unit; zero counts as missing, as sources use it so. */
  private static final class Scaled extends EventTimeExtractor {
    private final int index;
    private final long factor;
    private final long divisor;
    private final boolean date;

    Scaled(int index, long factor, long divisor, boolean date) {
      this.index = index;
      this.factor = factor;
      this.divisor = divisor;
      this.date = date;
    }

    @Override
    public long epochMillis(RowData row) {
      if (row.isNullAt(index)) {
        return MISSING;
      }
      long value = date ? row.getInt(index) : row.getLong(index);
      if (value == 0 && !date) {
        return MISSING;
      }
      if (factor == 1) {
        return Math.max(TOO_EARLY, Math.floorDiv(value, divisor));
      }
      long high = Math.multiplyHigh(value, factor);
      long low = value * factor;
      if ((high == 0 && low >= 0) || (high == -1 && low < 0)) {
        return low;
      }
      return value < 0 ? TOO_EARLY : TOO_LATE;
    }
  }

  private static final class Text extends EventTimeExtractor {
    private final int index;
    private final String column;
    private final String format;
    private transient DateTimeFormatter formatter;

    Text(int index, String column, String format) {
      this.index = index;
      this.column = column;
      this.format = format;
      this.formatter = formatter(column, format);
    }

    @Override
    public long epochMillis(RowData row) {
      if (row.isNullAt(index)) {
        return MISSING;
      }
      if (formatter == null) {
        formatter = formatter(column, format);
      }
      try {
        TemporalAccessor parsed =
            formatter.parseBest(
                row.getString(index).toString(), OffsetDateTime::from, Instant::from, LocalDateTime::from);
        if (parsed instanceof OffsetDateTime withOffset) {
          return withOffset.toInstant().toEpochMilli();
        }
        return parsed instanceof Instant instant
            ? instant.toEpochMilli()
            : ((LocalDateTime) parsed).toInstant(ZoneOffset.UTC).toEpochMilli();
      } catch (DateTimeException | ArithmeticException e) {
        return MISSING;
      }
    }
  }

  private static final class Plugged extends EventTimeExtractor {
    private final EventTimeReader reader;

    Plugged(EventTimeReader reader) {
      this.reader = reader;
    }

    @Override
    public long epochMillis(RowData row) {
      return reader.epochMillis(row);
    }
  }

  private static final class Nested extends EventTimeExtractor {
    private final ColumnPath path;
    private final EventTimeExtractor leaf;

    Nested(ColumnPath path, EventTimeExtractor leaf) {
      this.path = path;
      this.leaf = leaf;
    }

    @Override
    public long epochMillis(RowData row) {
      RowData holder = path.find(row);
      return holder == null ? MISSING : leaf.epochMillis(holder);
    }
  }
}
