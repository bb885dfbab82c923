package io.github.icebergfinalization.api;

import java.util.List;
import java.util.Map;
import org.apache.flink.table.data.RowData;

/**
 * Gathers facts about the records of one commit.
 *
 * <p>Each writer subtask has an instance of its own. It sees every row right after the standard writer took it, gives
 * its state away at each checkpoint, and starts again from nothing. The states of all subtasks are then merged in one
 * place, and the result is written into the snapshot summary under {@code accumulator.<name>.<key>}.
 *
 * <p>Found by {@link #name()} through {@link java.util.ServiceLoader}, or by class name (public constructor without
 * arguments), in the table property or hint {@code sink.accumulators}.
 */
public interface Accumulator {

  /** The name in {@code sink.accumulators} and in the summary keys: letters, digits and {@code -}. */
  String name();

  /**
   * Prepares for rows of the given type. Called once before any other method but {@link #name()}, and also when the
   * job is submitted, so that a wrong setting is an error there.
   *
   * @throws IllegalArgumentException naming the key, the value received and what would be right
   */
  void open(AccumulatorContext context);

  /** Sees one row. Called for every record: must not allocate, block or throw because of the row's values. */
  void add(RowData row);

  /** The state since the last {@link #reset()}, in a versioned form of the accumulator's own; empty if it saw nothing. */
  byte[] snapshot();

  /** Forgets everything seen. */
  void reset();

  /**
   * Merges the states of all writer subtasks of one checkpoint into summary entries (keys without prefix).
   *
   * <p>Must return the same entries in whatever order the states come. Empty states are left out before the call;
   * the list is empty when no subtask saw anything.
   */
  Map<String, String> merge(List<byte[]> snapshots);
}
