package io.github.icebergfinalization.eventtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.icebergfinalization.api.EventTimeReader;
import java.time.Instant;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

class EventTimeExtractorTest {

  private static final long MS = Instant.parse("2013-01-01T10:20:30.456Z").toEpochMilli();

  @Test
  void readsEveryTimestampPrecision() {
    for (int precision : new int[] {0, 3, 6, 9}) {
      TimestampData value = TimestampData.fromEpochMillis(MS, 789_000);
      assertThat(extract(DataTypes.TIMESTAMP(precision), null, value)).isEqualTo(MS);
      assertThat(extract(DataTypes.TIMESTAMP_LTZ(precision), null, value)).isEqualTo(MS);
    }
  }

  @Test
  void readsNumbersByTheirFormat() {
    assertThat(extract(DataTypes.BIGINT(), "epoch-seconds", MS / 1000)).isEqualTo(MS / 1000 * 1000);
    assertThat(extract(DataTypes.BIGINT(), "epoch-millis", MS)).isEqualTo(MS);
    assertThat(extract(DataTypes.BIGINT(), "epoch-micros", MS * 1000 + 7)).isEqualTo(MS);
    assertThat(extract(DataTypes.BIGINT(), "epoch-nanos", MS * 1_000_000 + 7)).isEqualTo(MS);
    assertThat(extract(DataTypes.BIGINT(), "tso", (MS << 18) + 5)).isEqualTo(MS);
    assertThat(extract(DataTypes.DATE(), null, 2)).isEqualTo(2 * 86_400_000L);
  }

  @Test
  void numbersThatDoNotFitAreOutsideEveryBound() {
    assertThat(extract(DataTypes.BIGINT(), "epoch-seconds", Long.MAX_VALUE)).isEqualTo(EventTimeExtractor.TOO_LATE);
    assertThat(extract(DataTypes.BIGINT(), "epoch-seconds", Long.MIN_VALUE)).isEqualTo(EventTimeExtractor.TOO_EARLY);
    assertThat(extract(DataTypes.BIGINT(), "epoch-millis", Long.MIN_VALUE)).isEqualTo(EventTimeExtractor.TOO_EARLY);
    assertThat(extract(DataTypes.BIGINT(), "epoch-millis", 0L)).isEqualTo(EventTimeExtractor.MISSING);
  }

  @Test
  void readsTextWithOffsetsAndPatterns() {
    assertThat(extract(DataTypes.STRING(), "iso-8601", text("2013-01-01T11:20:30.456+01:00"))).isEqualTo(MS);
    assertThat(extract(DataTypes.STRING(), null, text("2013-01-01T10:20:30.456"))).isEqualTo(MS);
    assertThat(extract(DataTypes.STRING(), "yyyy-MM-dd HH:mm", text("2013-01-01 10:20"))).isEqualTo(MS - 30_456);
    assertThat(extract(DataTypes.STRING(), "iso-8601", text("yesterday"))).isEqualTo(EventTimeExtractor.MISSING);
  }

  @Test
  void readsNestedFields() {
    DataType nested = DataTypes.ROW(DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("t", DataTypes.BIGINT()));
    RowType type = (RowType) DataTypes.ROW(DataTypes.FIELD("meta", nested)).getLogicalType();
    EventTimeExtractor extractor = EventTimeExtractor.of(type, "meta.t", "epoch-millis");
    assertThat(extractor.epochMillis(GenericRowData.of(GenericRowData.of(1, MS)))).isEqualTo(MS);
    assertThat(extractor.epochMillis(GenericRowData.of((Object) null))).isEqualTo(EventTimeExtractor.MISSING);
  }

  /** Years in a column of their own, as a user's class may read them. */
  public static final class YearReader implements EventTimeReader {
    private int index;

    @Override
    public String name() {
      return "year";
    }

    @Override
    public void open(RowType rowType, String column) {
      index = rowType.getFieldIndex(column);
    }

    @Override
    public long epochMillis(RowData row) {
      return row.isNullAt(index) ? MISSING : (row.getInt(index) - 1970) * 31_556_952_000L;
    }
  }

  @Test
  void readsWithAClassOfTheUsersOwn() {
    assertThat(extract(DataTypes.INT(), YearReader.class.getName(), 1971)).isEqualTo(31_556_952_000L);
    assertThatThrownBy(() -> extract(DataTypes.INT(), "java.lang.String", 1971))
        .hasMessageContaining("'java.lang.String' is not a " + EventTimeReader.class.getName());
  }

  @Test
  void aColumnThatIsNoTimeIsRefused() {
    assertThatThrownBy(() -> extract(DataTypes.BOOLEAN(), null, true)).hasMessageContaining("of type BOOLEAN");
    assertThatThrownBy(() -> extract(DataTypes.BIGINT(), null, 1L)).hasMessageContaining("expected epoch-seconds");
    assertThatThrownBy(() -> extract(DataTypes.STRING(), "bad pattern {", text("x"))).hasMessageContaining("iso-8601");
  }

  private static StringData text(String value) {
    return StringData.fromString(value);
  }

  private static long extract(DataType type, String format, Object value) {
    RowType row = (RowType) DataTypes.ROW(DataTypes.FIELD("t", type)).getLogicalType();
    return EventTimeExtractor.of(row, "t", format).epochMillis(GenericRowData.of(value));
  }
}
