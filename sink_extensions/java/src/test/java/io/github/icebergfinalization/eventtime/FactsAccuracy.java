package io.github.icebergfinalization.eventtime;

import io.github.icebergfinalization.api.AccumulatorContext;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.RowType;

/**
 * How large the facts of a commit are, and how far their percentiles are from the true ones.
 *
 * @param bytes of all entries, keys included
 * @param rankErrors by percent: how far, in ranks from 0 to 1, the estimate is from the percentile asked for
 */
record FactsAccuracy(Times times, int records, int bytes, int centroids, Map<Double, Double> rankErrors) {

  private static final long HOUR = 3_600_000;
  private static final long NOW = Instant.parse("2013-06-01T12:30:00Z").toEpochMilli();
  private static final RowType ROW =
      (RowType) DataTypes.ROW(DataTypes.FIELD("ts", DataTypes.TIMESTAMP(6))).getLogicalType();

  private static final double[] PERCENTS = {0.1, 1, 3, 5, 10, 25, 40, 50, 60, 75, 90, 95, 97, 99, 99.9};

  /** Shapes of the event times of one commit. */
  enum Times {
    UNIFORM,
    ORDERED,
    BURSTY,
    TWO_HOURS_MIXED,
    HEAVY_TAIL;

    /** The event time of one of {@code records}, in epoch milliseconds, at most {@link #NOW}. */
    long of(int record, int records, Random random) {
      return switch (this) {
        case UNIFORM -> NOW - random.nextInt((int) HOUR);
        case ORDERED -> NOW - HOUR + record * HOUR / records;
        case BURSTY -> NOW - random.nextInt(6) * 600_000L - random.nextInt(1000);
        case TWO_HOURS_MIXED -> NOW - (record % 10 == 0 ? 5 : 1) * HOUR - random.nextInt(600_000);
        case HEAVY_TAIL -> NOW - Math.min(30 * 24 * HOUR, (long) (60_000 * Math.pow(random.nextDouble(), -0.7)));
      };
    }
  }

  /** Spreads the records over two writers, and reads the merged facts back. */
  static FactsAccuracy measure(Times times, int records, long seed) {
    Random random = new Random(seed);
    EventTimeAccumulator accumulator = new EventTimeAccumulator(InstantSource.fixed(Instant.ofEpochMilli(NOW)));
    accumulator.open(new AccumulatorContext(ROW, Map.of("finalization.event-time-column", "ts")));
    long[] values = new long[records];
    List<byte[]> snapshots = new ArrayList<>();
    for (int i = 0; i < records; i++) {
      values[i] = times.of(i, records, random);
      accumulator.add(GenericRowData.of(TimestampData.fromEpochMillis(values[i])));
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
    DigestCodec.Decoded digest = DigestCodec.decode(facts.get("digest"));
    Arrays.sort(values);
    Map<Double, Double> errors = new LinkedHashMap<>();
    for (double percent : PERCENTS) {
      errors.put(percent, rankError(values, quantile(digest, percent / 100), percent / 100));
    }
    return new FactsAccuracy(times, records, bytes, digest.centroids().means().length, errors);
  }

  /** The largest error between two percents, both included. */
  double worst(double fromPercent, double toPercent) {
    return rankErrors.entrySet().stream()
        .filter(e -> e.getKey() >= fromPercent && e.getKey() <= toPercent)
        .mapToDouble(Map.Entry::getValue)
        .max()
        .orElseThrow();
  }

  /** The ranks that hold the estimate are an interval: values come more than once, and between two lies nothing. */
  static double rankError(long[] sorted, double estimate, double q) {
    double low = (double) below(sorted, (long) Math.floor(estimate)) / sorted.length;
    double high = (double) below(sorted, (long) Math.floor(estimate) + 1) / sorted.length;
    return q < low ? low - q : q > high ? q - high : 0;
  }

  private static int below(long[] sorted, long value) {
    int from = 0;
    int to = sorted.length;
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (sorted[middle] < value) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  /** Interpolates between the middles of neighbouring centroids, as the readers of facts do. */
  static double quantile(DigestCodec.Decoded digest, double q) {
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

  /** A line of a table: name, records, bytes, centroids, errors. */
  @Override
  public String toString() {
    return String.format(
        "| %s | %,d | %d | %d | %.5f | %.5f | %.5f |",
        times.name().toLowerCase().replace('_', ' '), records, bytes, centroids, worst(0.1, 0.1), worst(1, 99), worst(99.9, 99.9));
  }

  /** Prints a table, in Markdown, of every shape at the given numbers of records. */
  public static void main(String[] records) {
    System.out.println("| times | records | bytes | centroids | error at p0.1 | worst of p1 to p99 | error at p99.9 |");
    System.out.println("|---|--:|--:|--:|--:|--:|--:|");
    for (Times times : Times.values()) {
      for (String number : records) {
        System.out.println(measure(times, Integer.parseInt(number), 11));
      }
    }
  }
}
