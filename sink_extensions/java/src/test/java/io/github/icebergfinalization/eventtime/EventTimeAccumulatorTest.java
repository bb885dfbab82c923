package io.github.icebergfinalization.eventtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.icebergfinalization.api.AccumulatorContext;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

class EventTimeAccumulatorTest {

  private static final long HOUR = 3_600_000;
  private static final long NOW = Instant.parse("2013-06-01T12:30:00Z").toEpochMilli();
  private static final RowType ROW =
      (RowType) DataTypes.ROW(DataTypes.FIELD("ts", DataTypes.TIMESTAMP(6))).getLogicalType();

  @Test
  void anEmptySubtaskContributesNothing() {
    assertThat(accumulator().snapshot()).isEmpty();
    assertThat(accumulator().merge(List.of())).isEqualTo(Map.of("count", "0", "nulls", "0", "rejected", "0"));
  }

  @Test
  void countsMinimumMaximumAndPartitions() {
    EventTimeAccumulator accumulator = accumulator();
    accumulator.add(row(NOW));
    accumulator.add(row(NOW - HOUR));
    accumulator.add(row(NOW - HOUR + 1));
    Map<String, String> facts = accumulator.merge(List.of(accumulator.snapshot()));
    assertThat(facts)
        .containsEntry("count", "3")
        .containsEntry("min-ms", Long.toString(NOW - HOUR))
        .containsEntry("max-ms", Long.toString(NOW))
        .containsEntry("partitions", "hour|" + (NOW / HOUR - 1) + ":2,1:1|0");
  }

  @Test
  void missingAndUnbelievableTimesAreCountedAndStayOut() {
    EventTimeAccumulator accumulator = accumulator();
    accumulator.add(row(NOW));
    accumulator.add(GenericRowData.of((Object) null));
    accumulator.add(row(Instant.parse("9999-01-01T00:00:00Z").toEpochMilli()));
    accumulator.add(row(0));
    accumulator.add(row(NOW * 1000));
    Map<String, String> facts = accumulator.merge(List.of(accumulator.snapshot()));
    assertThat(facts)
        .containsEntry("count", "1")
        .containsEntry("nulls", "1")
        .containsEntry("rejected", "3")
        .containsEntry("min-ms", Long.toString(NOW))
        .containsEntry("max-ms", Long.toString(NOW));
  }

  @Test
  void poisonAmongAMillionHonestRecordsChangesNothingButItsCount() {
    EventTimeAccumulator honest = accumulator();
    EventTimeAccumulator poisoned = accumulator();
    long year9999 = Instant.parse("9999-12-31T23:59:59Z").toEpochMilli();
    Random random = new Random(3);
    for (int i = 0; i < 1_000_000; i++) {
      RowData row = row(NOW - random.nextInt((int) (2 * HOUR)));
      honest.add(row);
      poisoned.add(row);
      if (i == 250_000) {
        poisoned.add(row(year9999));
        poisoned.add(row(0));
        poisoned.add(row(NOW * 1000));
      }
    }
    Map<String, String> expected = honest.merge(List.of(honest.snapshot()));
    Map<String, String> facts = poisoned.merge(List.of(poisoned.snapshot()));
    assertThat(facts).containsEntry("rejected", "3");
    for (String key : List.of("count", "nulls", "min-ms", "max-ms", "partitions")) {
      assertThat(facts).containsEntry(key, expected.get(key));
    }
  }

  @Test
  void onlyUnbelievableTimesGiveNoMinimum() {
    EventTimeAccumulator accumulator = accumulator();
    accumulator.add(row(0));
    assertThat(accumulator.merge(List.of(accumulator.snapshot())))
        .isEqualTo(Map.of("count", "0", "nulls", "0", "rejected", "1"));
  }

  @Test
  void resetForgetsEverything() {
    EventTimeAccumulator accumulator = accumulator();
    accumulator.add(row(NOW));
    accumulator.add(GenericRowData.of((Object) null));
    accumulator.reset();
    assertThat(accumulator.snapshot()).isEmpty();
  }

  @Test
  void onlyTheNewestPartitionsAreKeptOneByOne() {
    EventTimeAccumulator accumulator = accumulator();
    for (int hour = 0; hour < 60; hour++) {
      accumulator.add(row(NOW - hour * HOUR));
    }
    String partitions = accumulator.merge(List.of(accumulator.snapshot())).get("partitions");
    assertThat(partitions).startsWith("hour|" + (NOW / HOUR - 47) + ":1,1:1").endsWith("|12");
  }

  @Test
  void mergingGivesTheSameBytesInAnyOrder() {
    Random random = new Random(7);
    List<byte[]> snapshots = new ArrayList<>();
    EventTimeAccumulator accumulator = accumulator();
    for (int subtask = 0; subtask < 8; subtask++) {
      accumulator.reset();
      for (int i = 0; i < 5000; i++) {
        accumulator.add(row(NOW - (long) (random.nextGaussian() * random.nextInt(100) * 60_000) - HOUR));
      }
      snapshots.add(accumulator.snapshot());
    }
    Map<String, String> expected = accumulator.merge(snapshots);
    for (int i = 0; i < 20; i++) {
      Collections.shuffle(snapshots, random);
      assertThat(accumulator.merge(snapshots)).isEqualTo(expected);
    }
  }

  @Test
  void factsStaySmallAndPercentilesClose() {
    Random random = new Random(11);
    for (int records : new int[] {1_000, 1_000_000}) {
      assertFacts("uniform", records, i -> NOW - random.nextInt((int) HOUR));
      assertFacts("in order", records, i -> NOW - HOUR + i * HOUR / records);
      assertFacts("two hours mixed", records, i -> NOW - (i % 10 == 0 ? 5 : 1) * HOUR - random.nextInt(600_000));
      assertFacts("heavy tail", records, i -> NOW - (long) (60_000 * Math.pow(random.nextDouble(), -0.7)));
    }
  }

  private void assertFacts(String name, int records, LongUnaryOperator times) {
    EventTimeAccumulator accumulator = accumulator();
    long[] values = new long[records];
    List<byte[]> snapshots = new ArrayList<>();
    for (int i = 0; i < records; i++) {
      values[i] = Math.max(times.applyAsLong(i), NOW - 30L * 24 * HOUR);
      accumulator.add(row(values[i]));
      if (i == records / 2) {
        snapshots.add(accumulator.snapshot());
        accumulator.reset();
      }
    }
    snapshots.add(accumulator.snapshot());
    Map<String, String> facts = accumulator.merge(snapshots);
    int bytes =
        facts.entrySet().stream()
            .mapToInt(e -> ("accumulator.event-time." + e.getKey() + e.getValue()).getBytes(StandardCharsets.UTF_8).length)
            .sum();
    Arrays.sort(values);
    DigestCodec.Decoded digest = DigestCodec.decode(facts.get("digest"));
    StringBuilder errors = new StringBuilder();
    double worst = 0;
    for (double q : new double[] {0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999}) {
      double error = rankError(values, quantile(digest, q), q);
      worst = Math.max(worst, error);
      errors.append(String.format(" p%s=%.5f", q * 100, error));
    }
    System.out.printf(
        "%s, %,d records: %d bytes, %d centroids, rank errors%s%n",
        name, records, bytes, digest.centroids().means().length, errors);
    // A centroid that reaches over empty time (between two hours, along a tail) blurs the percentiles beside it.
    boolean hasGaps = name.equals("two hours mixed") || name.equals("heavy tail");
    assertThat(worst).as(name).isLessThan(hasGaps ? 0.05 : 0.01);
    // Heavy tails reach over many partitions, each with a count of its own; they are not the ordinary commit.
    if (!name.equals("heavy tail")) {
      assertThat(bytes).as(name).isLessThanOrEqualTo(600);
    }
  }

  /** How far, in ranks, the estimate is from the quantile asked for. */
  private static double rankError(long[] sorted, double estimate, double q) {
    int below = 0;
    int upTo = 0;
    for (long value : sorted) {
      below += value < estimate - 0.5 ? 1 : 0;
      upTo += value <= estimate + 0.5 ? 1 : 0;
    }
    double low = (double) below / sorted.length;
    double high = (double) upTo / sorted.length;
    return q < low ? low - q : q > high ? q - high : 0;
  }

  /** Interpolates between the middles of neighbouring centroids, with the exact ends beyond them. */
  private static double quantile(DigestCodec.Decoded digest, double q) {
    double[] means = digest.centroids().means();
    long[] weights = digest.centroids().weights();
    double target = q * Arrays.stream(weights).sum();
    double rank = 0;
    double value = digest.minMs();
    double seen = 0;
    for (int i = 0; i < means.length; i++) {
      double middle = seen + weights[i] / 2.0;
      if (target <= middle) {
        return value + (means[i] - value) * (target - rank) / Math.max(middle - rank, 1e-9);
      }
      rank = middle;
      value = means[i];
      seen += weights[i];
    }
    return value + (digest.maxMs() - value) * (target - rank) / Math.max(seen - rank, 1e-9);
  }

  @Test
  void aWrongSettingIsNamedWithItsFix() {
    assertThatThrownBy(() -> open(Map.of("finalization.event-time-column", "nope")))
        .hasMessageContaining("finalization.event-time-column is 'nope'")
        .hasMessageContaining("[ts]");
    assertThatThrownBy(
            () -> open(Map.of("finalization.event-time-column", "ts", "finalization.granularity", "PT7M")))
        .hasMessageContaining("finalization.granularity is 'PT7M'");
    assertThatThrownBy(() -> open(Map.of("finalization.event-time-column", "ts", "finalization.max-future", "soon")))
        .hasMessageContaining("PT1H");
  }

  private static EventTimeAccumulator accumulator() {
    return open(Map.of("finalization.event-time-column", "ts"));
  }

  private static EventTimeAccumulator open(Map<String, String> options) {
    EventTimeAccumulator accumulator = new EventTimeAccumulator(InstantSource.fixed(Instant.ofEpochMilli(NOW)));
    accumulator.open(new AccumulatorContext(ROW, new HashMap<>(options)));
    return accumulator;
  }

  private static RowData row(long epochMs) {
    return GenericRowData.of(TimestampData.fromEpochMillis(epochMs));
  }
}
