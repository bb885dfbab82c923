package io.github.icebergfinalization.eventtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.icebergfinalization.api.AccumulatorContext;
import io.github.icebergfinalization.eventtime.FactsAccuracy.Times;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Random commits: how their rows are spread over writers, and in which order those report, does not show in the facts. */
class MergeOrderTest {

  private static final int CASES = 300;
  private static final int WRITERS = 8;
  private static final long NOW = Instant.parse("2013-06-01T12:30:00Z").toEpochMilli();
  private static final RowType ROW =
      (RowType) DataTypes.ROW(DataTypes.FIELD("ts", DataTypes.TIMESTAMP(6))).getLogicalType();
  private static final RowData NULL = GenericRowData.of((Object) null);
  private static final RowData YEAR_1970 = row(1);
  private static final RowData YEAR_9999 = row(Instant.parse("9999-12-31T23:59:59Z").toEpochMilli());
  private static final double[] PERCENTS = {0.1, 1, 5, 25, 50, 75, 95, 99, 99.9};

  private final EventTimeAccumulator accumulator = accumulator();

  @Test
  void factsDoNotDependOnHowRowsAreSpreadNorOnTheOrderOfStates() {
    for (long seed = 1; seed <= CASES; seed++) {
      try {
        checkCase(new Random(seed));
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("the case of seed " + seed, e);
      }
    }
  }

  private void checkCase(Random random) {
    Times shape = Times.values()[random.nextInt(Times.values().length)];
    List<RowData> rows = rows(shape, random);
    Map<String, String> whole = withoutDigest(accumulator.merge(states(rows, 1, random)));
    for (int writers : new int[] {1, 2, 2 + random.nextInt(WRITERS - 1)}) {
      List<byte[]> states = states(rows, writers, random);
      Map<String, String> facts = accumulator.merge(states);
      for (List<byte[]> reordered : reorderings(states, random)) {
        assertThat(accumulator.merge(reordered)).as("%d writers", writers).isEqualTo(facts);
      }
      assertThat(withoutDigest(facts)).as("%d writers", writers).isEqualTo(whole);
      assertRanks(shape, rows, facts);
    }
  }

  /** Shuffled; in groups, whose order and inner order change; and the other way round. */
  private static List<List<byte[]>> reorderings(List<byte[]> states, Random random) {
    List<byte[]> shuffled = new ArrayList<>(states);
    Collections.shuffle(shuffled, random);
    int cut = random.nextInt(states.size() + 1);
    List<byte[]> grouped = new ArrayList<>(states.subList(cut, states.size()));
    grouped.addAll(states.subList(0, cut));
    List<byte[]> reversed = new ArrayList<>(states);
    Collections.reverse(reversed);
    return List.of(shuffled, grouped, reversed);
  }

  /** The states of so many writers, each row with one of them: by chance, in stretches, or nearly all with the first. */
  private List<byte[]> states(List<RowData> rows, int writers, Random random) {
    int way = random.nextInt(3);
    List<byte[]> states = new ArrayList<>();
    List<List<RowData>> shares = new ArrayList<>();
    for (int i = 0; i < writers; i++) {
      shares.add(new ArrayList<>());
    }
    for (int i = 0; i < rows.size(); i++) {
      int writer =
          switch (way) {
            case 0 -> random.nextInt(writers);
            case 1 -> (int) ((long) i * writers / rows.size());
            default -> random.nextInt(100) == 0 ? random.nextInt(writers) : 0;
          };
      shares.get(writer).add(rows.get(i));
    }
    for (List<RowData> share : shares) {
      accumulator.reset();
      share.forEach(accumulator::add);
      byte[] state = accumulator.snapshot();
      if (state.length > 0) {
        states.add(state);
      }
    }
    return states;
  }

  private static List<RowData> rows(Times shape, Random random) {
    int count = (int) Math.pow(10, random.nextDouble() * 4.3);
    List<RowData> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rows.add(
          switch (random.nextInt(50)) {
            case 0 -> NULL;
            case 1 -> YEAR_1970;
            case 2 -> YEAR_9999;
            default -> row(shape.of(i, count, random));
          });
    }
    return rows;
  }

  private static void assertRanks(Times shape, List<RowData> rows, Map<String, String> facts) {
    long[] times =
        rows.stream()
            .filter(row -> row != NULL && row != YEAR_1970 && row != YEAR_9999)
            .mapToLong(row -> row.getTimestamp(0, 6).getMillisecond())
            .sorted()
            .toArray();
    assertThat(facts).containsEntry("count", Integer.toString(times.length));
    if (times.length == 0) {
      return;
    }
    DigestCodec.Decoded digest = DigestCodec.decode(facts.get("digest"));
    assertThat(Arrays.stream(digest.centroids().weights()).sum()).isEqualTo(times.length);
    // Many bursts of random times have more corners than fit into the text; between two values lies a whole record's rank.
    boolean hasGaps = shape == Times.BURSTY || shape == Times.TWO_HOURS_MIXED;
    double tolerance = (hasGaps ? 0.0075 : 0.005) + 1.0 / times.length;
    for (double percent : PERCENTS) {
      double estimate = FactsAccuracy.quantile(digest, percent / 100);
      assertThat(FactsAccuracy.rankError(times, estimate, percent / 100))
          .as("rank error of p%s of %d records, %s", percent, times.length, shape)
          .isLessThanOrEqualTo(tolerance);
    }
  }

  private static Map<String, String> withoutDigest(Map<String, String> facts) {
    Map<String, String> exact = new HashMap<>(facts);
    exact.remove("digest");
    return exact;
  }

  private static EventTimeAccumulator accumulator() {
    EventTimeAccumulator accumulator = new EventTimeAccumulator(InstantSource.fixed(Instant.ofEpochMilli(NOW)));
    accumulator.open(new AccumulatorContext(ROW, Map.of("finalization.event-time-column", "ts")));
    return accumulator;
  }

  private static RowData row(long epochMs) {
    return GenericRowData.of(TimestampData.fromEpochMillis(epochMs));
  }
}
