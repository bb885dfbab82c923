package io.github.icebergfinalization.rows;

import java.io.Serializable;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

/**
 * Where a column is in a row, by dotted path: {@code ts}, {@code payload.created.at}.
 *
 * @param parents the fields that lead to the row that has the column; empty for a column of the row itself
 * @param sizes how many fields the row in each of the parents has
 * @param index the column's place in its own row
 * @param type the column's type
 */
public record ColumnPath(int[] parents, int[] sizes, int index, LogicalType type) implements Serializable {

  /**
   * Looks a column up.
   *
   * @param key the option that names the column, for the error
   * @throws IllegalArgumentException if there is no such column, naming the fields there are
   */
  public static ColumnPath of(RowType rowType, String column, String key) {
    String[] names = column.split("\\.");
    int[] parents = new int[names.length - 1];
    int[] sizes = new int[names.length - 1];
    RowType row = rowType;
    for (int i = 0; ; i++) {
      int index = row.getFieldIndex(names[i]);
      if (index < 0) {
        throw new IllegalArgumentException(
            key + " is '" + column + "', but there is no '" + names[i] + "'; fields: " + row.getFieldNames());
      }
      LogicalType type = row.getTypeAt(index);
      if (i == names.length - 1) {
        return new ColumnPath(parents, sizes, index, type);
      }
      if (!(type instanceof RowType inner)) {
        throw new IllegalArgumentException(
            key + " is '" + column + "', but '" + names[i] + "' is " + type + " and has no fields");
      }
      parents[i] = index;
      sizes[i] = inner.getFieldCount();
      row = inner;
    }
  }

  /** The row that has the column at {@link #index}; null where a parent, or the column itself, is null. */
  public RowData find(RowData row) {
    RowData inner = row;
    for (int i = 0; i < parents.length; i++) {
      if (inner.isNullAt(parents[i])) {
        return null;
      }
      inner = inner.getRow(parents[i], sizes[i]);
    }
    return inner.isNullAt(index) ? null : inner;
  }
}
