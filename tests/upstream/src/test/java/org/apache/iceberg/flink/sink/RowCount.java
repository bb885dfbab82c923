package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.Accumulator;
import io.github.icebergfinalization.api.AccumulatorContext;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;

/** Counts the rows that a writer took, and those of them that it wrote into data files. */
public final class RowCount implements Accumulator {

  static final String NAME = "row-count";
  static final String ROWS = "rows";
  static final String WRITTEN = "written";

  private long rows;
  private long written;

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public void open(AccumulatorContext context) {}

  @Override
  public void add(RowData row) {
    rows++;
    if (row.getRowKind() == RowKind.INSERT || row.getRowKind() == RowKind.UPDATE_AFTER) {
      written++;
    }
  }

  @Override
  public byte[] snapshot() {
    return rows == 0
        ? new byte[0]
        : ByteBuffer.allocate(2 * Long.BYTES).putLong(rows).putLong(written).array();
  }

  @Override
  public void reset() {
    rows = 0;
    written = 0;
  }

  @Override
  public Map<String, String> merge(List<byte[]> snapshots) {
    long allRows = 0;
    long allWritten = 0;
    for (byte[] snapshot : snapshots) {
      ByteBuffer counts = ByteBuffer.wrap(snapshot);
      allRows += counts.getLong();
      allWritten += counts.getLong();
    }
    return Map.of(ROWS, Long.toString(allRows), WRITTEN, Long.toString(allWritten));
  }
}
