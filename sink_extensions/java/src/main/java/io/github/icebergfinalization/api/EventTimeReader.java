package io.github.icebergfinalization.api;

import java.io.Serializable;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;

/**
 * Reads the event time of a row where no built-in format fits.
 *
 * <p>Found by {@link #name()} through {@link java.util.ServiceLoader}, or by class name (public constructor without
 * arguments), in {@code finalization.event-time-format}.
 */
public interface EventTimeReader extends Serializable {

  /** Returned for a missing or unreadable event time: the record is counted as such. */
  long MISSING = Long.MIN_VALUE;

  /** The name in {@code finalization.event-time-format}. */
  String name();

  /**
   * Prepares for rows of the given type. Called once before the first row, and when the job is submitted.
   *
   * @param column what {@code finalization.event-time-column} says
   * @throws IllegalArgumentException if the column does not fit, saying what would
   */
  void open(RowType rowType, String column);

  /** The event time in epoch milliseconds, or {@link #MISSING}. Called for every record: must not throw or allocate. */
  long epochMillis(RowData row);
}
