package io.github.icebergfinalization.fieldstats;

import java.time.LocalDate;
import java.time.LocalTime;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.iceberg.util.UnicodeUtil;

/** One column's facts of all writers together, and their text in the summary. */
final class Totals {

  /** Longer strings are cut, the least downwards and the greatest upwards, so that the bounds stay true. */
  static final int LONGEST_TEXT = 64;

  private final String column;
  private final LogicalType type;
  private long count;
  private long nulls;
  private Comparable<Object> min;
  private Comparable<Object> max;

  Totals(String column, LogicalType type) {
    this.column = column;
    this.type = type;
  }

  void addCounts(long values, long nullValues) {
    count += values;
    nulls += nullValues;
  }

  @SuppressWarnings("unchecked")
  void addBounds(Object least, Object greatest) {
    if (min == null || min.compareTo(least) > 0) {
      min = (Comparable<Object>) least;
    }
    if (max == null || max.compareTo(greatest) < 0) {
      max = (Comparable<Object>) greatest;
    }
  }

  void describe(Map<String, String> facts) {
    facts.put(column + ".count", Long.toString(count));
    facts.put(column + ".nulls", Long.toString(nulls));
    if (min != null) {
      facts.put(column + ".min", UnicodeUtil.truncateStringMin(text(min), LONGEST_TEXT));
      String greatest = UnicodeUtil.truncateStringMax(text(max), LONGEST_TEXT);
      if (greatest != null) {
        facts.put(column + ".max", greatest);
      }
    }
  }

  /** Times in ISO-8601, numbers in decimal, strings as they are. */
  private String text(Object value) {
    return switch (type.getTypeRoot()) {
      case DATE -> LocalDate.ofEpochDay((Long) value).toString();
      case TIME_WITHOUT_TIME_ZONE ->
          LocalTime.ofNanoOfDay(TimeUnit.MILLISECONDS.toNanos((Long) value)).toString();
      case TIMESTAMP_WITHOUT_TIME_ZONE -> ((TimestampData) value).toLocalDateTime().toString();
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> ((TimestampData) value).toInstant().toString();
      case FLOAT -> Float.toString(((Double) value).floatValue());
      default -> value.toString();
    };
  }
}
