package com.example.shop;

import io.github.icebergfinalization.api.Accumulator;
import io.github.icebergfinalization.api.AccumulatorContext;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.RowType;

/** The sum of a BIGINT column: {@code accumulator.revenue.cents}. */
public final class Revenue implements Accumulator {

  private static final String COLUMN_KEY = "sink.revenue.column";
  private static final byte VERSION = 1;

  private int column;
  private long cents;

  @Override
  public String name() {
    return "revenue";
  }

  @Override
  public void open(AccumulatorContext context) {
    RowType rowType = context.rowType();
    String name = context.options().getOrDefault(COLUMN_KEY, "cents");
    column = rowType.getFieldIndex(name);
    if (column < 0 || rowType.getTypeAt(column).getTypeRoot() != LogicalTypeRoot.BIGINT) {
      throw new IllegalArgumentException(
          COLUMN_KEY + " is '" + name + "'; expected a BIGINT column out of " + rowType.getFieldNames());
    }
  }

  @Override
  public void add(RowData row) {
    if (!row.isNullAt(column)) {
      cents += row.getLong(column);
    }
  }

  @Override
  public byte[] snapshot() {
    return ByteBuffer.allocate(1 + Long.BYTES).put(VERSION).putLong(cents).array();
  }

  @Override
  public void reset() {
    cents = 0;
  }

  @Override
  public Map<String, String> merge(List<byte[]> snapshots) {
    long total = snapshots.stream().mapToLong(Revenue::read).sum();
    return Map.of("cents", Long.toString(total));
  }

  private static long read(byte[] snapshot) {
    ByteBuffer state = ByteBuffer.wrap(snapshot);
    byte version = state.get();
    if (version != VERSION) {
      throw new IllegalArgumentException("state of version " + version + "; this reads " + VERSION);
    }
    return state.getLong();
  }
}
