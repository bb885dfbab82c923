package io.github.icebergfinalization.cdc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Reads the real Debezium messages in the fixtures. */
class ChangeEventDecoderTest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final RowType ORDERS =
      (RowType)
          DataTypes.ROW(
                  DataTypes.FIELD("id", DataTypes.BIGINT()),
                  DataTypes.FIELD("customer", DataTypes.STRING()),
                  DataTypes.FIELD("amount", DataTypes.DECIMAL(12, 2)),
                  DataTypes.FIELD("created_at", DataTypes.TIMESTAMP_LTZ(6)),
                  DataTypes.FIELD("updated_at", DataTypes.TIMESTAMP(6)),
                  DataTypes.FIELD("_op", DataTypes.STRING()),
                  DataTypes.FIELD("_source_ts", DataTypes.TIMESTAMP_LTZ(3)),
                  DataTypes.FIELD("_position", DataTypes.STRING()),
                  DataTypes.FIELD("_event_time", DataTypes.TIMESTAMP_LTZ(3)),
                  DataTypes.FIELD("_error", DataTypes.STRING()),
                  DataTypes.FIELD("_raw", DataTypes.BYTES()))
              .getLogicalType();

  private final ChangeEventDecoder decoder = decoder();

  private static ChangeEventDecoder decoder() {
    return decoder(false);
  }

  private static ChangeEventDecoder decoder(boolean heartbeats) {
    ChangeEventDecoder decoder =
        new ChangeEventDecoder(ORDERS, InternalTypeInfo.of(ORDERS), "created_at", null, heartbeats);
    decoder.open(null);
    return decoder;
  }

  @Test
  void anInsertBecomesItsImageWithTimesAndPosition() throws IOException {
    RowData row = read("insert.json").get(0);
    assertThat(row.getLong(0)).isEqualTo(10);
    assertThat(row.getDecimal(2, 12, 2).toBigDecimal()).isEqualTo(new BigDecimal("12.50"));
    assertThat(row.getTimestamp(3, 6).toInstant()).hasToString("2026-11-30T21:09:13.344838Z");
    assertThat(row.isNullAt(4)).isTrue();
    assertThat(row.getString(5)).hasToString("c");
    assertThat(row.getTimestamp(6, 3).getMillisecond()).isEqualTo(1796072953349L);
    assertThat(row.getString(7)).hasToString("00000000000024362688.0000000001");
    assertThat(row.getTimestamp(8, 3).toInstant()).hasToString("2026-11-30T21:09:13.344Z");
    assertThat(row.isNullAt(9)).isTrue();
    assertThat(row.isNullAt(10)).isTrue();
  }

  @Test
  void numbersInATimestampColumnAreMicroseconds() throws IOException {
    RowData row = read("update_default_identity.json").get(0);
    assertThat(row.getTimestamp(4, 6).toLocalDateTime()).hasToString("2026-11-30T21:09:13.349451");
  }

  @Test
  void aKeyChangeIsADeleteAndACreateInOrderAndTheTombstoneNothing() throws IOException {
    List<RowData> rows = read("pk_change_delete_tombstone_create.json");
    assertThat(rows).hasSize(2);
    assertThat(rows.get(0).getLong(0)).isEqualTo(10);
    assertThat(rows.get(0).getString(5)).hasToString("d");
    assertThat(rows.get(1).getLong(0)).isEqualTo(11);
    assertThat(rows.get(1).getString(5)).hasToString("c");
    assertThat(rows.get(0).getString(7).toString()).isLessThan(rows.get(1).getString(7).toString());
  }

  @Test
  void snapshotRowsHaveNoEventTime() throws IOException {
    RowData row = read("snapshot_read.json").get(0);
    assertThat(row.getString(5)).hasToString("r");
    assertThat(row.isNullAt(8)).isTrue();
  }

  @Test
  void aTruncateHasItsPlaceInTheLogAndNoColumnOfARow() throws IOException {
    RowData row = read("truncate.json").get(0);
    for (int column = 0; column < 5; column++) {
      assertThat(row.isNullAt(column)).isTrue();
    }
    assertThat(row.getString(5)).hasToString("t");
    assertThat(row.getTimestamp(6, 3).getMillisecond()).isEqualTo(1796091946171L);
    assertThat(row.getString(7)).hasToString("00000000000024296256.0000000001");
    assertThat(row.isNullAt(8)).isTrue();
    assertThat(row.isNullAt(9)).isTrue();
  }

  @Test
  void controlMessagesGiveNoRow() throws IOException {
    assertThat(read("heartbeat.json")).isEmpty();
    assertThat(read("transaction_metadata.json")).isEmpty();
    assertThat(read("logical_message.json")).isEmpty();
  }

  @Test
  void aHeartbeatGivesARowOfItsOwnWhereItIsAskedFor() {
    RowData row = decoder(true).deserialize("{\"ts_ms\":1796072924291}".getBytes(StandardCharsets.UTF_8));
    assertThat(row.getString(5)).hasToString("heartbeat");
    assertThat(row.isNullAt(0)).isTrue();
  }

  @Test
  void moreDecimalsThanDeclaredAreNotRounded() throws IOException {
    RowData row = read("schema_drop_column_and_type.json").get(0);
    assertThat(row.getString(9)).hasToString("column 'amount': \"9.1234\" does not fit its declared type");
    assertThat(row.getBinary(10)).isNotEmpty();
  }

  @Test
  void whatIsNoChangeKeepsItsBytesAndSaysWhy() {
    assertUnreadable("not json", "not JSON");
    assertUnreadable("[1]", "no Debezium envelope");
    assertUnreadable("{\"id\":1}", "no Debezium envelope");
    assertUnreadable("{\"op\":\"c\",\"source\":{\"lsn\":1,\"ts_ms\":1},\"after\":null}", "needs an object 'after'");
    assertUnreadable("{\"op\":\"x\",\"source\":{\"lsn\":1,\"ts_ms\":1}}", "operation 'x'");
    assertUnreadable("{\"op\":\"t\",\"source\":{\"ts_ms\":1}}", "source.lsn");
    assertUnreadable("{\"op\":\"c\",\"source\":{\"ts_ms\":1},\"after\":{\"id\":1}}", "source.lsn");
    assertUnreadable("{\"op\":\"c\",\"source\":{\"lsn\":1,\"ts_ms\":1},\"after\":{\"id\":\"x\"}}", "column 'id': \"x\"");
    assertUnreadable("{\"op\":\"c\",\"source\":{\"lsn\":1,\"ts_ms\":1},\"after\":{\"id\":1.5}}", "column 'id': 1.5");
  }

  @Test
  void aTimeBeyondWhatReadersKnowIsTheLatestOne() {
    String message =
        "{\"op\":\"c\",\"source\":{\"lsn\":1,\"ts_ms\":1},\"after\":{\"id\":1,\"created_at\":9223371331200000000}}";
    RowData row = decoder.deserialize(message.getBytes(StandardCharsets.UTF_8));
    assertThat(row.getTimestamp(8, 3).toInstant()).hasToString("9999-12-31T23:59:59Z");
  }

  private void assertUnreadable(String message, String reason) {
    byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
    RowData row = decoder.deserialize(bytes);
    assertThat(row.getString(9).toString()).contains(reason);
    assertThat(row.getBinary(10)).isEqualTo(bytes);
    assertThat(row.isNullAt(5)).isTrue();
  }

  private List<RowData> read(String fixture) throws IOException {
    List<RowData> rows = new ArrayList<>();
    for (JsonNode message : JSON.readTree(new File(System.getProperty("fixtures") + "/debezium", fixture))) {
      JsonNode value = message.get("value");
      RowData row = decoder.deserialize(value.isNull() ? null : JSON.writeValueAsBytes(value));
      if (row != null) {
        rows.add(row);
      }
    }
    return rows;
  }
}
