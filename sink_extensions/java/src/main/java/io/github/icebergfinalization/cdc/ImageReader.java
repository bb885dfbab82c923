package io.github.icebergfinalization.cdc;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.flink.formats.common.TimestampFormat;
import org.apache.flink.formats.json.JsonToRowDataConverters;
import org.apache.flink.formats.json.JsonToRowDataConverters.JsonToRowDataConverter;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a row's image, field by field, as Debezium writes PostgreSQL's types.
 *
 * <p>Times without a zone come as numbers (epoch days; milli-, micro- or nanoseconds by the column's precision), times
 * with a zone as ISO-8601 text. Text in a time column is read as ISO-8601 too. Everything else is Flink's JSON
 * conversion, except that a number which does not fit is an error and not a null.
 */
final class ImageReader implements Serializable {

  private static final Logger LOG = LoggerFactory.getLogger(ImageReader.class);
  private static final long serialVersionUID = 1L;

  private final String[] names;
  private final JsonToRowDataConverter[] converters;
  private final Set<String> known = new HashSet<>();
  private final Set<String> reported = new HashSet<>();

  /** @param others positions of columns that are not part of the image */
  ImageReader(RowType rowType, Collection<Integer> others) {
    int size = rowType.getFieldCount();
    names = rowType.getFieldNames().toArray(new String[0]);
    converters = new JsonToRowDataConverter[size];
    JsonToRowDataConverters standard = new JsonToRowDataConverters(false, false, TimestampFormat.ISO_8601);
    for (int i = 0; i < size; i++) {
      if (!others.contains(i)) {
        converters[i] = converter(rowType.getTypeAt(i), standard);
        known.add(names[i]);
      }
    }
  }

  /** @throws IllegalArgumentException naming the column, its value and its type */
  void read(JsonNode image, GenericRowData row) {
    int found = 0;
    for (int i = 0; i < converters.length; i++) {
      if (converters[i] == null) {
        continue;
      }
      JsonNode value = image.get(names[i]);
      found += value == null ? 0 : 1;
      if (value == null || value.isNull()) {
        continue;
      }
      try {
        row.setField(i, converters[i].convert(value));
      } catch (RuntimeException e) {
        throw new IllegalArgumentException(
            "column '" + names[i] + "': " + abbreviate(value.toString()) + " does not fit its declared type", e);
      }
    }
    if (found < known.size() || found < image.size()) {
      reportDifferences(image);
    }
  }

  private static String abbreviate(String value) {
    return value.length() <= 80 ? value : value.substring(0, 80) + "…";
  }

  /** Says once for each column that the messages and the declaration differ: a typing error, or a changed table. */
  private void reportDifferences(JsonNode image) {
    for (String name : known) {
      if (!image.has(name) && reported.add(name)) {
        LOG.warn("column '{}' is declared but not in the messages; it is null. Was it dropped, or misspelt?", name);
      }
    }
    for (Iterator<String> fields = image.fieldNames(); fields.hasNext(); ) {
      String name = fields.next();
      if (!known.contains(name) && reported.add(name)) {
        LOG.warn("the messages have a column '{}' that is not declared; it is left out. Add it to `columns`.", name);
      }
    }
  }

  private static JsonToRowDataConverter converter(LogicalType type, JsonToRowDataConverters standard) {
    switch (type.getTypeRoot()) {
      case DATE:
        return value -> value.isNumber() ? value.intValue() : (int) LocalDate.parse(value.asText()).toEpochDay();
      case TIME_WITHOUT_TIME_ZONE:
        return time(unit(type));
      case TIMESTAMP_WITHOUT_TIME_ZONE:
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return timestamp(unit(type));
      case DECIMAL:
        return decimal((DecimalType) type);
      case TINYINT:
      case SMALLINT:
      case INTEGER:
      case BIGINT:
        JsonToRowDataConverter number = standard.createConverter(type);
        return value -> {
          if (value.isFloatingPointNumber() || value.isBoolean() || value.isContainerNode()) {
            throw new IllegalArgumentException("not a whole number");
          }
          return number.convert(value);
        };
      default:
        return standard.createConverter(type);
    }
  }

  /** Debezium's adaptive precision: milliseconds up to 3 digits, microseconds up to 6, nanoseconds beyond. */
  private static TimeUnit unit(LogicalType type) {
    int precision = LogicalTypeChecks.getPrecision(type);
    return precision <= 3 ? TimeUnit.MILLISECONDS : precision <= 6 ? TimeUnit.MICROSECONDS : TimeUnit.NANOSECONDS;
  }

  private static JsonToRowDataConverter time(TimeUnit unit) {
    return value ->
        value.isNumber()
            ? Math.toIntExact(unit.toMillis(value.longValue()))
            : (int) TimeUnit.NANOSECONDS.toMillis(parseTime(value.asText()).toNanoOfDay());
  }

  private static LocalTime parseTime(String text) {
    return text.endsWith("Z") || text.indexOf('+') > 0 || text.indexOf('-') > 0
        ? OffsetTime.parse(text).withOffsetSameInstant(ZoneOffset.UTC).toLocalTime()
        : LocalTime.parse(text);
  }

  private static JsonToRowDataConverter timestamp(TimeUnit unit) {
    long perMilli = unit.convert(1, TimeUnit.MILLISECONDS);
    int nanosPer = (int) unit.toNanos(1);
    return value -> {
      if (value.isNumber()) {
        long number = value.longValue();
        return TimestampData.fromEpochMillis(
            Math.floorDiv(number, perMilli), (int) Math.floorMod(number, perMilli) * nanosPer);
      }
      String text = value.asText();
      return text.endsWith("Z") || text.lastIndexOf('+') > 10 || text.lastIndexOf('-') > 10
          ? TimestampData.fromInstant(OffsetDateTime.parse(text).toInstant())
          : TimestampData.fromLocalDateTime(LocalDateTime.parse(text.replace(' ', 'T')));
    };
  }

  private static JsonToRowDataConverter decimal(DecimalType type) {
    return value -> {
      // Flink would round what has more decimals than the column: a changed value is worse than a dead letter.
      BigDecimal exact = new BigDecimal(value.asText().trim()).setScale(type.getScale(), RoundingMode.UNNECESSARY);
      DecimalData decimal = DecimalData.fromBigDecimal(exact, type.getPrecision(), type.getScale());
      if (decimal == null) {
        throw new IllegalArgumentException("too many digits");
      }
      return decimal;
    };
  }
}
