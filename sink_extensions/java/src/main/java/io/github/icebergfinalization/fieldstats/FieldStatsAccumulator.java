package io.github.icebergfinalization.fieldstats;

import io.github.icebergfinalization.api.Accumulator;
import io.github.icebergfinalization.api.AccumulatorContext;
import io.github.icebergfinalization.rows.ColumnPath;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.table.data.RowData;

/**
 * Facts about named columns: {@code <column>.count} (values that are not null), {@code .nulls}, and, where the type has
 * an order, {@code .min} and {@code .max}.
 */
public final class FieldStatsAccumulator implements Accumulator {

  public static final String NAME = "field-stats";
  static final String COLUMNS_KEY = "sink.field-stats.columns";
  private static final int VERSION = 1;

  private final Map<String, ColumnPath> columns = new LinkedHashMap<>();
  private FieldStats[] stats;

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public void open(AccumulatorContext context) {
    String value = context.options().getOrDefault(COLUMNS_KEY, "");
    Stream.of(value.split(","))
        .map(String::trim)
        .filter(column -> !column.isEmpty())
        .forEach(column -> columns.put(column, ColumnPath.of(context.rowType(), column, COLUMNS_KEY)));
    if (columns.isEmpty()) {
      throw new IllegalArgumentException(
          "the field-stats accumulator needs " + COLUMNS_KEY + ": names of columns, separated by commas, of "
              + context.rowType().getFieldNames());
    }
    stats = columns.values().stream().map(FieldStats::of).toArray(FieldStats[]::new);
  }

  @Override
  public void add(RowData row) {
    for (FieldStats field : stats) {
      field.add(row);
    }
  }

  @Override
  public byte[] snapshot() {
    if (Arrays.stream(stats).allMatch(field -> field.count() + field.nulls() == 0)) {
      return new byte[0];
    }
    DataOutputSerializer out = new DataOutputSerializer(256);
    try {
      out.writeByte(VERSION);
      for (FieldStats field : stats) {
        out.writeLong(field.count());
        out.writeLong(field.nulls());
        out.writeBoolean(field.min() != null);
        if (field.min() != null) {
          field.serializer().serialize(field.min(), out);
          field.serializer().serialize(field.max(), out);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.getCopyOfBuffer();
  }

  @Override
  public void reset() {
    for (FieldStats field : stats) {
      field.reset();
    }
  }

  @Override
  public Map<String, String> merge(List<byte[]> snapshots) {
    List<Totals> totals = new ArrayList<>();
    columns.forEach((name, column) -> totals.add(new Totals(name, column.type())));
    try {
      for (byte[] snapshot : snapshots) {
        DataInputDeserializer in = new DataInputDeserializer(snapshot);
        int version = in.readByte();
        if (version != VERSION) {
          throw new IllegalArgumentException("field-stats state of version " + version + "; this reads " + VERSION);
        }
        for (int i = 0; i < stats.length; i++) {
          totals.get(i).addCounts(in.readLong(), in.readLong());
          if (in.readBoolean()) {
            totals.get(i).addBounds(stats[i].serializer().deserialize(in), stats[i].serializer().deserialize(in));
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Map<String, String> facts = new LinkedHashMap<>();
    totals.forEach(total -> total.describe(facts));
    return facts;
  }
}
