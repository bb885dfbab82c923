package io.github.icebergfinalization.eventtime;

import io.github.icebergfinalization.api.Accumulator;
import io.github.icebergfinalization.api.AccumulatorContext;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.data.RowData;

/**
 * Facts about the event times of a commit: count, minimum, maximum, a t-digest, records by partition; and, kept apart,
 * how many had no event time or one outside the believable bounds.
 */
public final class EventTimeAccumulator implements Accumulator {

  public static final String NAME = "event-time";
  static final String MIN_KEY = "finalization.min-event-time";
  static final String MAX_FUTURE_KEY = "finalization.max-future";

  private static final int BATCH = 4096;

  /** Values next to each end of a sorted batch that enter the digest one by one, so that far percentiles stay exact. */
  private static final int SINGLES = 16;

  /** In how many groups of neighbours the values between the ends enter the digest. */
  private static final int GROUPS = 128;

  private final InstantSource clock;
  private final long[] batch = new long[BATCH];
  private final BatchSorter sorter = new BatchSorter(BATCH);
  private int size;
  private long nulls;

  private EventTimeExtractor extractor;
  private Granularity granularity;
  private long earliestMs;
  private long maxFutureMs;
  private EventTimeState state;

  public EventTimeAccumulator() {
    this(InstantSource.system());
  }

  EventTimeAccumulator(InstantSource clock) {
    this.clock = clock;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public void open(AccumulatorContext context) {
    Map<String, String> options = context.options();
    String column = options.get(EventTimeExtractor.COLUMN_KEY);
    if (column == null) {
      throw new IllegalArgumentException(
          "the event-time accumulator needs " + EventTimeExtractor.COLUMN_KEY + ": the column of the event time");
    }
    extractor = EventTimeExtractor.of(context.rowType(), column, options.get(EventTimeExtractor.FORMAT_KEY));
    granularity =
        Granularity.parse(
            options.getOrDefault(Granularity.KEY, "hour"), options.getOrDefault(Granularity.ZONE_KEY, "UTC"));
    earliestMs = parseInstant(options.getOrDefault(MIN_KEY, "1971-01-01T00:00:00Z"));
    maxFutureMs = parseDuration(options.getOrDefault(MAX_FUTURE_KEY, "PT1H"));
    state = new EventTimeState(granularity);
  }

  private static long parseInstant(String value) {
    try {
      return Instant.parse(value).toEpochMilli();
    } catch (DateTimeException | ArithmeticException e) {
      throw new IllegalArgumentException(
          MIN_KEY + " is '" + value + "'; expected an instant in UTC such as 1971-01-01T00:00:00Z", e);
    }
  }

  private static long parseDuration(String value) {
    try {
      return Duration.parse(value).toMillis();
    } catch (DateTimeException | ArithmeticException e) {
      throw new IllegalArgumentException(
          MAX_FUTURE_KEY + " is '" + value + "'; expected an ISO-8601 duration such as PT1H", e);
    }
  }

  @Override
  public void add(RowData row) {
    long epochMs = extractor.epochMillis(row);
    if (epochMs == EventTimeExtractor.MISSING) {
      nulls++;
      return;
    }
    if (size == BATCH) {
      flush();
    }
    batch[size++] = epochMs;
  }

  /**
   * Takes the batch into the state. The values are sorted first: most are in order already, bounds and partitions
   * then cost next to nothing, and neighbours enter the digest in groups.
   */
  private void flush() {
    sorter.sort(batch, size);
    int from = 0;
    int to = size;
    long latestMs = clock.millis() + maxFutureMs;
    while (from < to && batch[from] < earliestMs) {
      from++;
    }
    while (from < to && batch[to - 1] > latestMs) {
      to--;
    }
    state.reject(size - (to - from));
    size = 0;
    if (from == to) {
      return;
    }
    state.range(batch[from], batch[to - 1], to - from);
    state.partitions.addSorted(batch, from, to);
    int groupsFrom = Math.min(from + SINGLES, to);
    int groupsTo = Math.max(groupsFrom, to - SINGLES);
    addSingles(from, groupsFrom);
    addSingles(groupsTo, to);
    int group = Math.max(1, (groupsTo - groupsFrom) / GROUPS);
    for (int i = groupsFrom; i < groupsTo; i += group) {
      addGroup(i, Math.min(i + group, groupsTo));
    }
  }

  private void addSingles(int from, int to) {
    for (int i = from; i < to; i++) {
      state.digest(batch[i], 1);
    }
  }

  private void addGroup(int from, int to) {
    long first = batch[from];
    long offsets = 0;
    for (int i = from; i < to; i++) {
      offsets += batch[i] - first;
    }
    state.digest(first + (double) offsets / (to - from), to - from);
  }

  @Override
  public byte[] snapshot() {
    flush();
    state.nulls = nulls;
    return state.isEmpty() ? new byte[0] : state.serialize();
  }

  @Override
  public void reset() {
    size = 0;
    nulls = 0;
    state = new EventTimeState(granularity);
  }

  @Override
  public Map<String, String> merge(List<byte[]> snapshots) {
    List<EventTimeState.Merged> states = snapshots.stream().map(EventTimeState::deserialize).toList();
    long count = states.stream().mapToLong(EventTimeState.Merged::count).sum();
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("count", Long.toString(count));
    facts.put("nulls", Long.toString(states.stream().mapToLong(EventTimeState.Merged::nulls).sum()));
    facts.put("rejected", Long.toString(states.stream().mapToLong(EventTimeState.Merged::rejected).sum()));
    if (count > 0) {
      List<EventTimeState.Merged> filled = states.stream().filter(state -> state.count() > 0).toList();
      long minMs = filled.stream().mapToLong(EventTimeState.Merged::minMs).min().orElseThrow();
      long maxMs = filled.stream().mapToLong(EventTimeState.Merged::maxMs).max().orElseThrow();
      facts.put("min-ms", Long.toString(minMs));
      facts.put("max-ms", Long.toString(maxMs));
      facts.put("digest", DigestSummary.encode(minMs, maxMs, centroids(filled)));
      facts.put("partitions", mergePartitions(filled).encode());
    }
    return facts;
  }

  private static TDigests.Centroids centroids(List<EventTimeState.Merged> states) {
    return new TDigests.Centroids(
        states.stream().flatMapToDouble(state -> Arrays.stream(state.centroids().means())).toArray(),
        states.stream().flatMapToLong(state -> Arrays.stream(state.centroids().weights())).toArray());
  }

  private PartitionCounts mergePartitions(List<EventTimeState.Merged> states) {
    PartitionCounts merged = new PartitionCounts(granularity);
    for (EventTimeState.Merged state : states) {
      state.partitions().forEach(merged::add);
      merged.addOlder(state.older());
    }
    return merged;
  }
}
