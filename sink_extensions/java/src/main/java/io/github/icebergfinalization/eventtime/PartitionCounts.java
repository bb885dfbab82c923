package io.github.icebergfinalization.eventtime;

import java.util.Map;
import java.util.TreeMap;

/**
 * Records by finalization partition: exact for the newest {@value #KEPT}, one sum for all older ones.
 *
 * <p>A partition is given up only where {@value #KEPT} newer ones are held, so merging the states of several writers keeps
 * exactly the newest of all.
 */
final class PartitionCounts {

  static final int KEPT = 48;

  private final Granularity granularity;
  private final TreeMap<Long, Long> counts = new TreeMap<>();
  private long older;

  PartitionCounts(Granularity granularity) {
    this.granularity = granularity;
  }

  /** Counts values in ascending order, in epoch milliseconds. */
  void addSorted(long[] epochMs, int from, int to) {
    int next = from;
    while (next < to) {
      int first = next;
      long index = granularity.index(epochMs[first]);
      long end = granularity.start(index + 1);
      if (epochMs[to - 1] < end) {
        next = to;
      } else {
        do {
          next++;
        } while (epochMs[next] < end);
      }
      add(index, next - first);
    }
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

  Map<Long, Long> counts() {
    return counts;
  }

  long older() {
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
