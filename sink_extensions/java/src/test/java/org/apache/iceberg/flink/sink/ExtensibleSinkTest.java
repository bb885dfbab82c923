package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.StatementSet;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sink as SQL users get it, on a MiniCluster and a real Iceberg table. */
class ExtensibleSinkTest {

  private static final String EVENT_TIME =
      SinkTesting.EVENT_TIME.entrySet().stream()
          .map(option -> "'" + option.getKey() + "'='" + option.getValue() + "'")
          .collect(Collectors.joining(","));

  @TempDir Path warehouse;
  private TableEnvironment environment;

  @BeforeEach
  void setUp() {
    RecordingProcessor.clear();
    environment = environment("500 ms", 10_000);
  }

  private TableEnvironment environment(String checkpointInterval, int rowsPerSecond) {
    TableEnvironment created = SinkTesting.sql(SinkTesting.configuration(2, checkpointInterval), rowsPerSecond);
    for (String type : List.of("iceberg", "iceberg-extensible")) {
      SinkTesting.createCatalog(created, type, type, warehouse);
    }
    created.executeSql("CREATE DATABASE IF NOT EXISTS `iceberg`.db");
    return created;
  }

  @Test
  void withoutExtensionsTheJobGraphIsTheStandardOne() {
    createTable("plain", "");
    assertThat(plan("iceberg-extensible", "plain", "")).isEqualTo(plan("iceberg", "plain", ""));
  }

  @Test
  void withExtensionsTheOperatorsStayTheSame() {
    createTable("plain", "");
    assertThat(plan("iceberg-extensible", "plain", hint())).isEqualTo(plan("iceberg", "plain", hint()));
  }

  private String plan(String catalog, String table, String hint) {
    String plans =
        environment.explainSql(
            "INSERT INTO `" + catalog + "`.db." + table + " " + hint + " SELECT id, ts FROM numbers",
            ExplainDetail.JSON_EXECUTION_PLAN);
    return plans
        .substring(plans.indexOf("== Physical Execution Plan =="))
        .replace(catalog + ".db", "CATALOG.db")
        // The planner numbers every statement's nodes anew.
        .replaceAll("\"id\" : \\d+", "\"id\" : N")
        .replaceAll("\\[\\d+\\]", "[N]");
  }

  @Test
  void everySnapshotHasTheFactsOfItsRows() throws Exception {
    createTable("facts", "");
    insert("facts", hint());
    List<Snapshot> snapshots = SinkTesting.snapshots(load("facts"));
    long counted = 0;
    for (Snapshot snapshot : snapshots) {
      Map<String, String> summary = snapshot.summary();
      assertThat(summary).containsKey("accumulator.event-time.count").containsKey("test.checkpoint");
      assertThat(summary.get("accumulator.event-time.count")).isEqualTo(summary.getOrDefault("added-records", "0"));
      counted += Long.parseLong(summary.get("accumulator.event-time.count"));
    }
    assertThat(counted).isEqualTo(20_000);
    assertThat(load("facts").properties()).containsKey("test.processed");
  }

  @Test
  void anAbortedCommitWritesNothingAndIsTriedAgainWithTheSameFacts() throws Exception {
    createTable("aborted", "");
    RecordingProcessor.PRE_COMMIT_FAILURES.set(2);
    insert("aborted", hint());
    assertThat(rows("aborted")).isEqualTo(20_000);
    List<RecordingProcessor.Call> calls = RecordingProcessor.preCommits();
    assertThat(calls.get(0).facts()).isNotEmpty();
    assertThat(calls.get(0)).isEqualTo(calls.get(1)).isEqualTo(calls.get(2));
  }

  @Test
  void aFailureAfterTheCommitIsTriedAgainAndTheRowsStayOnce() throws Exception {
    createTable("after", "");
    RecordingProcessor.POST_COMMIT_FAILURES.set(4);
    insert("after", hint());
    assertThat(rows("after")).as("calls: %s", RecordingProcessor.CALLS).isEqualTo(20_000);
    assertThat(RecordingProcessor.CALLS).anyMatch(call -> call.snapshotId().isPresent());
  }

  /** The aggregator numbers what comes after the last barrier itself: it must not number it as a commit of before. */
  @Test
  void inputThatEndsBeforeTheFirstCheckpointAfterARestoreIsCommitted() throws Exception {
    environment = environment("2500 ms", 5_000);
    createTable("ended", "");
    RecordingProcessor.POST_COMMIT_FAILURES.set(3);
    insert("ended", hint());
    assertThat(rows("ended")).as("calls: %s", RecordingProcessor.CALLS).isEqualTo(20_000);
  }

  @Test
  void severalSinksInOneJobKeepTheirFactsApart() throws Exception {
    createTable("left_half", "," + EVENT_TIME);
    createTable("right_half", "," + EVENT_TIME);
    StatementSet set = environment.createStatementSet();
    set.addInsertSql("INSERT INTO `iceberg-extensible`.db.left_half SELECT id, ts FROM numbers WHERE id < 10000");
    set.addInsertSql("INSERT INTO `iceberg-extensible`.db.right_half SELECT id, ts FROM numbers WHERE id >= 10000");
    set.execute().await();
    long left = counted("left_half");
    long right = counted("right_half");
    assertThat(left).isEqualTo(rows("left_half")).isEqualTo(10_000);
    assertThat(right).isEqualTo(10_000);
  }

  @Test
  void policyInHintsCountsAsMuchAsInProperties() throws Exception {
    createTable("hinted", "");
    insert("hinted", "/*+ OPTIONS('finalization.event-time-column'='ts','finalization.lookback-commits'='1') */");
    assertThat(load("hinted").properties())
        .containsKey(SinkTesting.WATERMARK)
        .doesNotContainKey("finalization.lookback-commits");
  }

  @Test
  void theDynamicSinkDoesNotDropExtensionsInSilence() {
    createTable("fanned_out", "");
    assertThatThrownBy(
            () -> insert("fanned_out", "/*+ OPTIONS('use-dynamic-iceberg-sink'='true','sink.accumulators'='event-time') */"))
        .hasStackTraceContaining("'use-dynamic-iceberg-sink' is 'true', but the dynamic sink has no extensions");
  }

  @Test
  void aWrongNameFailsAtSubmissionAndSaysWhatWouldBeRight() {
    createTable("wrong", "");
    assertThatThrownBy(() -> insert("wrong", "/*+ OPTIONS('sink.accumulators'='evnt-time') */"))
        .hasStackTraceContaining("sink.accumulators names something that cannot be used: 'evnt-time' is neither a known name [event-time, field-stats]");
    assertThatThrownBy(() -> insert("wrong", "/*+ OPTIONS('sink.commit-processors'='java.lang.String') */"))
        .hasStackTraceContaining("'java.lang.String' is not a io.github.icebergfinalization.api.CommitProcessor");
  }

  private static String hint() {
    return "/*+ OPTIONS(" + EVENT_TIME + ") */";
  }

  private void createTable(String name, String options) {
    environment.executeSql(
        "CREATE TABLE `iceberg`.db." + name + " (id BIGINT, ts TIMESTAMP(6)) WITH ('format-version'='2'" + options + ")");
  }

  private void insert(String table, String hint) throws Exception {
    environment
        .executeSql("INSERT INTO `iceberg-extensible`.db." + table + " " + hint + " SELECT id, ts FROM numbers")
        .await();
  }

  private Table load(String table) {
    return SinkTesting.load(warehouse, table);
  }

  private long counted(String table) {
    return SinkTesting.counted(SinkTesting.snapshots(load(table)));
  }

  private long rows(String table) {
    return SinkTesting.totalRecords(load(table));
  }
}
