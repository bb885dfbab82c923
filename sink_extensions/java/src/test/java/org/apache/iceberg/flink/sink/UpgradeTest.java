package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job moves from the standard sink to the extended one with its state, and back: every row once. */
class UpgradeTest {

  private static final String STANDARD = "iceberg";
  private static final String EXTENDED = "iceberg-extensible";

  @TempDir Path folder;

  @Test
  void aSavepointOfTheStandardSinkGoesOnInTheExtendedOne() throws Exception {
    moveJob(STANDARD, EXTENDED);
    List<Map<String, String>> summaries = summaries();
    assertThat(summaries.get(0)).doesNotContainKey("accumulator.event-time.count");
    assertThat(summaries.get(summaries.size() - 1)).containsKey("accumulator.event-time.count");
  }

  @Test
  void aSavepointOfTheExtendedSinkGoesOnInTheStandardOne() throws Exception {
    moveJob(EXTENDED, STANDARD);
    List<Map<String, String>> summaries = summaries();
    assertThat(summaries.get(0)).containsKey("accumulator.event-time.count");
    assertThat(summaries.get(summaries.size() - 1)).doesNotContainKey("accumulator.event-time.count");
  }

  private void moveJob(String from, String to) throws Exception {
    TableEnvironment first = environment(from, null);
    first.executeSql("CREATE DATABASE IF NOT EXISTS lake.db");
    first.executeSql("CREATE TABLE lake.db.moved (id BIGINT, ts TIMESTAMP(6)) WITH ('format-version'='2')");
    JobClient job = insert(first);
    SinkTesting.await(() -> !snapshots().isEmpty(), "a commit");
    String savepoint =
        job.stopWithSavepoint(false, folder.resolve("savepoints").toUri().toString(), SavepointFormatType.CANONICAL)
            .get(2, TimeUnit.MINUTES);
    assertThat(rows()).isBetween(1L, 19_999L);
    insert(environment(to, savepoint)).getJobExecutionResult().get(2, TimeUnit.MINUTES);
    assertThat(rows()).isEqualTo(20_000);
  }

  private static JobClient insert(TableEnvironment environment) {
    return environment
        .executeSql(
            "INSERT INTO lake.db.moved /*+ OPTIONS('finalization.event-time-column'='ts') */ SELECT id, ts FROM numbers")
        .getJobClient()
        .orElseThrow();
  }

  private TableEnvironment environment(String type, String savepoint) {
    Configuration config = SinkTesting.configuration(2, "500 ms");
    if (savepoint != null) {
      config.setString("execution.state-recovery.path", savepoint);
    }
    TableEnvironment environment = SinkTesting.sql(config, 2_000);
    // One name: the table's full name is part of the operators' uids.
    SinkTesting.createCatalog(environment, "lake", type, folder);
    return environment;
  }

  private List<Map<String, String>> summaries() {
    return snapshots().stream().map(Snapshot::summary).toList();
  }

  private long rows() {
    return SinkTesting.totalRecords(table());
  }

  private List<Snapshot> snapshots() {
    return SinkTesting.snapshots(table());
  }

  private Table table() {
    return SinkTesting.load(folder, "moved");
  }
}
