package io.github.icebergfinalization.eventtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.icebergfinalization.api.AccumulatorContext;
import io.github.icebergfinalization.eventtime.FactsAccuracy.Times;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

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

  @ParameterizedTest
  @EnumSource(Times.class)
  void factsStaySmallAndPercentilesClose(Times times) {
    for (int records : new int[] {1_000, 50_000, 1_000_000}) {
      FactsAccuracy facts = FactsAccuracy.measure(times, records, 11);
      assertThat(facts.worst(1, 99)).as(facts.toString()).isLessThanOrEqualTo(0.005);
      assertThat(facts.worst(0.1, 0.1)).as(facts.toString()).isLessThanOrEqualTo(0.0005);
      assertThat(facts.worst(99.9, 99.9)).as(facts.toString()).isLessThanOrEqualTo(0.0005);
      // A tail of days reaches over many partitions, each with a count of its own: it is not the ordinary commit.
      assertThat(facts.bytes()).as(facts.toString()).isLessThanOrEqualTo(times == Times.HEAVY_TAIL ? 900 : 600);
    }
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
