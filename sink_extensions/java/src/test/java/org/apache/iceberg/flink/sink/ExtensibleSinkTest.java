package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.StatementSet;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.hadoop.HadoopTables;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sink as SQL users get it, on a MiniCluster and a real Iceberg table. */
class ExtensibleSinkTest {

  private static final String EVENT_TIME =
      "'sink.accumulators'='event-time','finalization.event-time-column'='ts',"
          + "'sink.commit-processors'='" + RecordingProcessor.class.getName() + "'";

  @TempDir Path warehouse;
  private TableEnvironment environment;

  @BeforeEach
  void setUp() {
    RecordingProcessor.clear();
    environment = environment("500 ms", 10_000);
  }

  private TableEnvironment environment(String checkpointInterval, int rowsPerSecond) {
    Configuration config = new Configuration();
    config.setString("parallelism.default", "2");
    config.setString("execution.checkpointing.interval", checkpointInterval);
    config.setString("restart-strategy.type", "fixed-delay");
    config.setString("restart-strategy.fixed-delay.attempts", "10");
    config.setString("restart-strategy.fixed-delay.delay", "100 ms");
    config.setString("table.exec.iceberg.use-v2-sink", "true");
    config.setString("rest.bind-address", "127.0.0.1");
    config.setString("sink.python.executable", System.getProperty("python"));
    TableEnvironment created =
        TableEnvironment.create(EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(config).build());
    for (String type : List.of("iceberg", "iceberg-extensible")) {
      created.executeSql(
          "CREATE CATALOG `" + type + "` WITH ('type'='" + type + "','catalog-type'='hadoop','warehouse'='"
              + warehouse.toUri() + "')");
    }
    created.executeSql("CREATE DATABASE IF NOT EXISTS `iceberg`.db");
    created.executeSql(
        "CREATE TEMPORARY TABLE numbers (id BIGINT, ts AS CAST(TO_TIMESTAMP_LTZ(1357034400000 + 360 * id, 3) AS TIMESTAMP(6)))"
            + " WITH ('connector'='datagen','fields.id.kind'='sequence','fields.id.start'='0','fields.id.end'='19999',"
            + "'rows-per-second'='" + rowsPerSecond + "')");
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
    List<Snapshot> snapshots = snapshots("facts");
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
    List<String> calls = RecordingProcessor.CALLS.stream().filter(call -> call.startsWith("pre")).toList();
    assertThat(calls.get(0)).isEqualTo(calls.get(1)).isEqualTo(calls.get(2));
    assertThat(RecordingProcessor.FACTS.get(0))
        .isEqualTo(RecordingProcessor.FACTS.get(1))
        .isEqualTo(RecordingProcessor.FACTS.get(2));
  }

  @Test
  void aFailureAfterTheCommitIsTriedAgainAndTheRowsStayOnce() throws Exception {
    createTable("after", "");
    RecordingProcessor.POST_COMMIT_FAILURES.set(4);
    insert("after", hint());
    assertThat(rows("after")).as("calls: %s", RecordingProcessor.CALLS).isEqualTo(20_000);
    assertThat(RecordingProcessor.CALLS).anyMatch(call -> call.endsWith("durable"));
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
  void aWrongNameFailsAtSubmissionAndSaysWhatWouldBeRight() {
    createTable("wrong", "");
    assertThatThrownBy(() -> insert("wrong", "/*+ OPTIONS('sink.accumulators'='evnt-time') */"))
        .hasStackTraceContaining("sink.accumulators names something that cannot be used: 'evnt-time' is neither a known name [event-time]");
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
    return new HadoopTables(new org.apache.hadoop.conf.Configuration()).load(warehouse.toUri() + "/db/" + table);
  }

  private List<Snapshot> snapshots(String table) {
    List<Snapshot> snapshots = new ArrayList<>();
    load(table).snapshots().forEach(snapshots::add);
    return snapshots;
  }

  private long counted(String table) {
    return snapshots(table).stream()
        .mapToLong(snapshot -> Long.parseLong(snapshot.summary().get("accumulator.event-time.count")))
        .sum();
  }

  private long rows(String table) {
    return Long.parseLong(load(table).currentSnapshot().summary().get("total-records"));
  }
}
