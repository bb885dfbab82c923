package io.github.icebergfinalization.fieldstats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.icebergfinalization.api.Accumulator;
import io.github.icebergfinalization.api.AccumulatorContext;
import io.github.icebergfinalization.api.Plugins;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.writer.BinaryRowWriter;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FieldStatsAccumulatorTest {

  @Test
  void isFoundByName() {
    assertThat(Plugins.find("field-stats", Accumulator.class, Accumulator::name))
        .containsInstanceOf(FieldStatsAccumulator.class);
  }

  @Test
  void tellsCountNullsLeastAndGreatest() {
    assertThat(factsOf(DataTypes.BIGINT(), 5L, null, -7L, 3L))
        .isEqualTo(Map.of("v.count", "3", "v.nulls", "1", "v.min", "-7", "v.max", "5"));
    assertThat(factsOf(DataTypes.INT(), Integer.MIN_VALUE, Integer.MAX_VALUE))
        .containsEntry("v.min", "-2147483648")
        .containsEntry("v.max", "2147483647");
    assertThat(factsOf(DataTypes.STRING(), StringData.fromString("b"), StringData.fromString("a")))
        .containsEntry("v.min", "a")
        .containsEntry("v.max", "b");
    assertThat(factsOf(DataTypes.DECIMAL(10, 2), decimal("10.00"), decimal("9.50")))
        .containsEntry("v.min", "9.50")
        .containsEntry("v.max", "10.00");
    assertThat(factsOf(DataTypes.DATE(), 0, 15_706)).containsEntry("v.min", "1970-01-01").containsEntry("v.max", "2013-01-01");
    assertThat(factsOf(DataTypes.TIME(), 3_600_000)).containsEntry("v.min", "01:00");
    assertThat(factsOf(DataTypes.FLOAT(), 0.1f)).containsEntry("v.min", "0.1");
    assertThat(factsOf(DataTypes.BOOLEAN(), true, false)).containsEntry("v.min", "false").containsEntry("v.max", "true");
  }

  @Test
  void notANumberIsCountedAndHasNoPlaceInTheOrder() {
    assertThat(factsOf(DataTypes.DOUBLE(), Double.NaN, 1.5, Double.NaN))
        .isEqualTo(Map.of("v.count", "3", "v.nulls", "0", "v.min", "1.5", "v.max", "1.5"));
    assertThat(factsOf(DataTypes.DOUBLE(), Double.NaN)).isEqualTo(Map.of("v.count", "1", "v.nulls", "0"));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3, 6, 9})
  void timestampsOfEveryPrecision(int precision) {
    LocalDateTime early = LocalDateTime.parse("2013-01-01T10:00:01");
    LocalDateTime late = early.plusNanos(precision == 0 ? 1_000_000_000L : (long) Math.pow(10, 9 - precision));
    Map<String, String> facts =
        factsOf(DataTypes.TIMESTAMP(precision), TimestampData.fromLocalDateTime(late), TimestampData.fromLocalDateTime(early));
    assertThat(facts).containsEntry("v.min", early.toString()).containsEntry("v.max", late.toString());
    Instant instant = Instant.parse("2013-01-01T10:00:01Z");
    assertThat(factsOf(DataTypes.TIMESTAMP_LTZ(precision), TimestampData.fromInstant(instant)))
        .containsEntry("v.min", instant.toString());
  }

  @Test
  void typesWithoutAnOrderAreCounted() {
    assertThat(factsOf(DataTypes.ARRAY(DataTypes.INT()), new GenericArrayData(new int[] {1}), null))
        .isEqualTo(Map.of("v.count", "1", "v.nulls", "1"));
  }

  @Test
  void longTextsAreCutAndStayTrueBounds() {
    String text = "m".repeat(Totals.LONGEST_TEXT + 1);
    Map<String, String> facts = factsOf(DataTypes.STRING(), StringData.fromString(text));
    assertThat(facts.get("v.min")).hasSize(Totals.LONGEST_TEXT).isLessThanOrEqualTo(text);
    assertThat(facts.get("v.max")).hasSize(Totals.LONGEST_TEXT).isGreaterThanOrEqualTo(text);
  }

  @Test
  void nestedColumnsAreReachedByDottedPath() {
    RowType type = row(DataTypes.FIELD("a", DataTypes.ROW(DataTypes.FIELD("b", DataTypes.BIGINT()))));
    FieldStatsAccumulator accumulator = open(type, "a.b");
    accumulator.add(GenericRowData.of(GenericRowData.of(4L)));
    accumulator.add(GenericRowData.of(GenericRowData.of((Object) null)));
    accumulator.add(GenericRowData.of((Object) null));
    assertThat(accumulator.merge(List.of(accumulator.snapshot())))
        .isEqualTo(Map.of("a.b.count", "1", "a.b.nulls", "2", "a.b.min", "4", "a.b.max", "4"));
  }

  @Test
  void aRowThatIsUsedAgainDoesNotChangeWhatWasSeen() {
    FieldStatsAccumulator accumulator = open(row(DataTypes.FIELD("v", DataTypes.STRING())), "v");
    BinaryRowData reused = new BinaryRowData(1);
    BinaryRowWriter writer = new BinaryRowWriter(reused);
    for (String value : List.of("a long enough string, first", "z long enough string, last", "k long enough in between")) {
      writer.reset();
      writer.writeString(0, StringData.fromString(value));
      writer.complete();
      accumulator.add(reused);
    }
    assertThat(accumulator.merge(List.of(accumulator.snapshot())))
        .containsEntry("v.min", "a long enough string, first")
        .containsEntry("v.max", "z long enough string, last");
  }

  @Test
  void nothingSeenIsAnEmptyState() {
    FieldStatsAccumulator accumulator = open(row(DataTypes.FIELD("v", DataTypes.BIGINT())), "v");
    assertThat(accumulator.snapshot()).isEmpty();
    accumulator.add(GenericRowData.of(1L));
    accumulator.reset();
    assertThat(accumulator.snapshot()).isEmpty();
    assertThat(accumulator.merge(List.of())).isEqualTo(Map.of("v.count", "0", "v.nulls", "0"));
  }

  @Test
  void mergingGivesTheSameInAnyOrderAndHoweverRowsAreSpread() {
    RowType type = row(DataTypes.FIELD("n", DataTypes.DOUBLE()), DataTypes.FIELD("s", DataTypes.STRING()));
    FieldStatsAccumulator one = open(type, "n, s");
    List<FieldStatsAccumulator> several = List.of(open(type, "n,s"), open(type, "n,s"), open(type, "n,s"));
    Random random = new Random(5);
    for (int i = 0; i < 1000; i++) {
      RowData row =
          GenericRowData.of(
              random.nextInt(9) == 0 ? null : random.nextGaussian(),
              StringData.fromString(Integer.toString(random.nextInt(), 36)));
      one.add(row);
      several.get(random.nextInt(3)).add(row);
    }
    List<byte[]> states = new ArrayList<>(several.stream().map(FieldStatsAccumulator::snapshot).toList());
    for (int i = 0; i < 6; i++) {
      Collections.shuffle(states, random);
      assertThat(one.merge(states)).isEqualTo(one.merge(List.of(one.snapshot())));
    }
  }

  @Test
  void aWrongSettingIsNamedWithItsFix() {
    RowType type = row(DataTypes.FIELD("v", DataTypes.BIGINT()));
    assertThatThrownBy(() -> open(type, "w"))
        .hasMessage("sink.field-stats.columns is 'w', but there is no 'w'; fields: [v]");
    assertThatThrownBy(() -> open(type, "v.x")).hasMessageContaining("'v' is BIGINT and has no fields");
    assertThatThrownBy(() -> open(type, " ,")).hasMessageContaining("sink.field-stats.columns").hasMessageContaining("[v]");
  }

  private static Map<String, String> factsOf(DataType type, Object... values) {
    FieldStatsAccumulator accumulator = open(row(DataTypes.FIELD("v", type)), "v");
    for (Object value : values) {
      accumulator.add(GenericRowData.of(value));
    }
    return accumulator.merge(List.of(accumulator.snapshot()));
  }

  private static FieldStatsAccumulator open(RowType type, String columns) {
    FieldStatsAccumulator accumulator = new FieldStatsAccumulator();
    accumulator.open(new AccumulatorContext(type, Map.of("sink.field-stats.columns", columns)));
    return accumulator;
  }

  private static RowType row(DataTypes.Field... fields) {
    return (RowType) DataTypes.ROW(fields).getLogicalType();
  }

  private static DecimalData decimal(String value) {
    return DecimalData.fromBigDecimal(new BigDecimal(value), 10, 2);
  }
}
