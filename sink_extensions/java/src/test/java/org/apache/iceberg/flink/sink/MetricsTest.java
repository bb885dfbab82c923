package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Instant;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.TableEnvironment;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a metrics reporter of a real job gets to see. */
class MetricsTest {

  private static final Instant WATERMARK = Instant.parse("2013-01-01T11:00:00Z");
  private static final Instant NEWEST = Instant.parse("2013-01-01T12:00:00Z");

  @TempDir Path warehouse;

  @BeforeEach
  void setUp() {
    RecordingProcessor.clear();
  }

  @Test
  void aJobTellsBytesDurationsLagAndLateRecords() throws Exception {
    Configuration config = SinkTesting.configuration(1, "500 ms");
    config.setString("metrics.reporters", "kept");
    config.setString("metrics.reporter.kept.factory.class", KeptMetrics.class.getName());
    TableEnvironment environment = SinkTesting.sql(config, 10_000);
    SinkTesting.createCatalog(environment, "ice", "iceberg-extensible", warehouse);
    environment.executeSql("CREATE DATABASE ice.db");
    environment.executeSql(
        "CREATE TABLE ice.db.measured (id BIGINT, ts TIMESTAMP(6)) WITH ('format-version'='2',"
            + "'finalization.event-time-column'='ts','finalization.watermark'='" + WATERMARK + "')");
    environment.executeSql("INSERT INTO ice.db.measured SELECT id, ts FROM numbers").await();

    // Half of the rows are older than the watermark that the table had.
    assertThat(metric("lateRecords")).isEqualTo(10_000);
    // Of the last commit, which may be the empty one at the end of the input.
    assertThat(metric("accumulatorBytes")).isBetween(50L, 700L);
    assertThat(metric("lastPreCommitDurationMs")).isNotNegative();
    assertThat(metric("lastPostCommitDurationMs")).isNotNegative();
    long now = System.currentTimeMillis();
    assertThat(metric("watermarkLagMs"))
        .isBetween(now - NEWEST.toEpochMilli(), System.currentTimeMillis() - WATERMARK.toEpochMilli());
  }

  private static long metric(String name) {
    Number value = KeptMetrics.value("ice.db.measured", name);
    assertThat(value).as(name).isNotNull();
    return value.longValue();
  }
}
