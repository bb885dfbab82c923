package io.github.icebergfinalization.fieldstats;

import io.github.icebergfinalization.rows.ColumnPath;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.DoubleSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryStringData;
import org.apache.flink.table.runtime.typeutils.InternalSerializers;

/** Count, nulls, least and greatest value of one column of the rows seen. */
abstract class FieldStats {

  private final ColumnPath column;
  private final TypeSerializer<?> serializer;
  private long count;
  private long nulls;

  private FieldStats(ColumnPath column, TypeSerializer<?> serializer) {
    this.column = column;
    this.serializer = serializer;
  }

  static FieldStats of(ColumnPath column) {
    return switch (column.type().getTypeRoot()) {
      case BIGINT -> new Longs(column, RowData::getLong);
      case INTEGER, DATE, TIME_WITHOUT_TIME_ZONE -> new Longs(column, RowData::getInt);
      case DOUBLE -> new Doubles(column, RowData::getDouble);
      case FLOAT -> new Doubles(column, RowData::getFloat);
      case CHAR, VARCHAR, DECIMAL, BOOLEAN, TINYINT, SMALLINT, TIMESTAMP_WITHOUT_TIME_ZONE,
          TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
          new Comparables(column);
      default -> new Unordered(column);
    };
  }

  /** Of {@link #min()} and {@link #max()}. */
  @SuppressWarnings("unchecked")
  TypeSerializer<Object> serializer() {
    return (TypeSerializer<Object>) serializer;
  }

  /** How many values were not null. */
  long count() {
    return count;
  }

  long nulls() {
    return nulls;
  }

  void add(RowData row) {
    RowData holder = column.find(row);
    if (holder == null) {
      nulls++;
    } else {
      count++;
      addValue(holder, column.index());
    }
  }

  void reset() {
    count = 0;
    nulls = 0;
    resetValues();
  }

  abstract void addValue(RowData holder, int index);

  abstract void resetValues();

  /** The least value in Flink's internal form, or null if there was none that has an order. */
  abstract Object min();

  /** The greatest value, as {@link #min()}. */
  abstract Object max();

  private interface LongReader {
    long read(RowData row, int index);
  }

  private interface DoubleReader {
    double read(RowData row, int index);
  }

  /** Whole numbers, kept as primitives: nothing is allocated for a value. */
  private static final class Longs extends FieldStats {
    private final LongReader reader;
    private long min;
    private long max;

    Longs(ColumnPath column, LongReader reader) {
      super(column, LongSerializer.INSTANCE);
      this.reader = reader;
      resetValues();
    }

    @Override
    void addValue(RowData holder, int index) {
      long value = reader.read(holder, index);
      min = Math.min(min, value);
      max = Math.max(max, value);
    }

    @Override
    void resetValues() {
      min = Long.MAX_VALUE;
      max = Long.MIN_VALUE;
    }

    @Override
    Object min() {
      return count() == 0 ? null : (Object) min;
    }

    @Override
    Object max() {
      return count() == 0 ? null : (Object) max;
    }
  }

  /** Floating-point numbers; NaN has no place in an order and is counted only. */
  private static final class Doubles extends FieldStats {
    private final DoubleReader reader;
    private double min;
    private double max;

    Doubles(ColumnPath column, DoubleReader reader) {
      super(column, DoubleSerializer.INSTANCE);
      this.reader = reader;
      resetValues();
    }

    @Override
    void addValue(RowData holder, int index) {
      double value = reader.read(holder, index);
      if (value <= min) {
        min = value;
      }
      if (value >= max) {
        max = value;
      }
    }

    @Override
    void resetValues() {
      min = Double.POSITIVE_INFINITY;
      max = Double.NEGATIVE_INFINITY;
    }

    @Override
    Object min() {
      return min > max ? null : (Object) min;
    }

    @Override
    Object max() {
      return min > max ? null : (Object) max;
    }
  }

  /** Values that rows hold as objects; a string is copied when it becomes an extreme, since rows are reused. */
  private static final class Comparables extends FieldStats {
    private final RowData.FieldGetter getter;
    private Comparable<Object> min;
    private Comparable<Object> max;

    Comparables(ColumnPath column) {
      super(column, InternalSerializers.create(column.type()));
      this.getter = RowData.createFieldGetter(column.type().copy(false), column.index());
    }

    @Override
    @SuppressWarnings("unchecked")
    void addValue(RowData holder, int index) {
      Comparable<Object> value = (Comparable<Object>) getter.getFieldOrNull(holder);
      if (min == null || value.compareTo(min) < 0) {
        min = keep(value);
      }
      if (max == null || value.compareTo(max) > 0) {
        max = keep(value);
      }
    }

    @SuppressWarnings("unchecked")
    private static Comparable<Object> keep(Object value) {
      return (Comparable<Object>) (value instanceof BinaryStringData string ? string.copy() : value);
    }

    @Override
    void resetValues() {
      min = null;
      max = null;
    }

    @Override
    Object min() {
      return min;
    }

    @Override
    Object max() {
      return max;
    }
  }

  /** Arrays, maps, rows, bytes: counted. */
  private static final class Unordered extends FieldStats {

    Unordered(ColumnPath column) {
      super(column, null);
    }

    @Override
    void addValue(RowData holder, int index) {}

    @Override
    void resetValues() {}

    @Override
    Object min() {
      return null;
    }

    @Override
    Object max() {
      return null;
    }
  }
}
