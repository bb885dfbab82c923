package io.github.icebergfinalization.eventtime;

import java.util.Map;
import java.util.TreeMap;

/**
 * Records by finalization partition: exact for the newest {@value #KEPT}, one sum for all older ones.
 *
 * <p>While counting, more are held than are kept in the end, so that merging the states of several writers keeps
 * exactly the newest of all.
 */
final class PartitionCounts {

  static final int KEPT = 48;

  private final Granularity granularity;
  private final TreeMap<Long, Long> counts = new TreeMap<>();
  private long older;

  // The partition of the last value: most records fall into the same one as their neighbour.
  private long start;
  private long end;
  private long pending;
  private long pendingIndex;

  PartitionCounts(Granularity granularity) {
    this.granularity = granularity;
    clear();
  }

  void clear() {
    counts.clear();
    older = 0;
    start = 0;
    end = 0;
    pending = 0;
    pendingIndex = 0;
  }

  /** Counts one value, given in epoch milliseconds. */
  void add(long epochMs) {
    if (epochMs < start || epochMs >= end) {
      settle();
      pendingIndex = granularity.index(epochMs);
      start = granularity.start(pendingIndex);
      end = granularity.start(pendingIndex + 1);
    }
    pending++;
  }

  /** Adds a partition's count, as read from another writer's state. */
  void add(long index, long count) {
    counts.merge(index, count, Long::sum);
    if (counts.size() > KEPT) {
      older += counts.pollFirstEntry().getValue();
    }
  }

  /** Adds records of partitions that another writer no longer held one by one. */
  void addOlder(long count) {
    older += count;
  }

  private void settle() {
    if (pending > 0) {
      add(pendingIndex, pending);
      pending = 0;
    }
  }

  Map<Long, Long> counts() {
    settle();
    return counts;
  }

  long older() {
    settle();
    return older;
  }

  /** The text in the summary: {@code hour|379500:12,1:3|0}, indices as differences to the one before. */
  String encode() {
    StringBuilder text = new StringBuilder(granularity.label()).append('|');
    long previous = 0;
    for (Map.Entry<Long, Long> entry : counts().entrySet()) {
      text.append(text.charAt(text.length() - 1) == '|' ? "" : ",")
          .append(entry.getKey() - previous)
          .append(':')
          .append(entry.getValue());
      previous = entry.getKey();
    }
    return text.append('|').append(older).toString();
  }
}
