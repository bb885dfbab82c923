package com.example.shop;

import io.github.icebergfinalization.api.EventTimeReader;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;

/** The time within ids of Snowflake's kind: milliseconds since 2010-11-04 above 22 bits of worker and sequence. */
public final class SnowflakeId implements EventTimeReader {

  private static final long EPOCH_MS = 1_288_834_974_657L;
  private static final int LOW_BITS = 22;
  private static final long serialVersionUID = 1L;

  private int index;

  @Override
  public String name() {
    return "snowflake-id";
  }

  @Override
  public void open(RowType rowType, String column) {
    index = rowType.getFieldIndex(column);
    if (index < 0) {
      throw new IllegalArgumentException(
          "finalization.event-time-column is '" + column + "'; expected one of " + rowType.getFieldNames());
    }
  }

  @Override
  public long epochMillis(RowData row) {
    return row.isNullAt(index) ? MISSING : (row.getLong(index) >> LOW_BITS) + EPOCH_MS;
  }
}
