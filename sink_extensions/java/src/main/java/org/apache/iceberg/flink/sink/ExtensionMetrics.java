package org.apache.iceberg.flink.sink;

import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.MetricGroup;

/**
 * What operators see of the extensions, beside the standard sink's own metrics: group {@code IcebergExtensions}, variable
 * {@code table}, in the committer.
 */
final class ExtensionMetrics {

  static final String WATERMARK = "finalization.watermark";
  private static final String LATE_RECORDS = "finalization.late-records";
  private static final long UNKNOWN = -1;

  private final String watermarkKey;
  private final Counter lateRecords;
  private volatile long accumulatorBytes;
  private volatile long preCommitMs;
  private volatile long postCommitMs;
  private volatile long watermarkMs = UNKNOWN;

  ExtensionMetrics(MetricGroup metrics, String table, String branch) {
    this.watermarkKey = branch.equals("main") ? WATERMARK : WATERMARK + "@" + branch;
    MetricGroup group = metrics.addGroup("IcebergExtensions").addGroup("table", table);
    lateRecords = group.counter("lateRecords");
    group.gauge("accumulatorBytes", () -> accumulatorBytes);
    group.gauge("lastPreCommitDurationMs", () -> preCommitMs);
    group.gauge("lastPostCommitDurationMs", () -> postCommitMs);
    // Read when asked for, so that the lag of a watermark that does not move grows.
    group.gauge("watermarkLagMs", () -> watermarkMs == UNKNOWN ? UNKNOWN : System.currentTimeMillis() - watermarkMs);
  }

  /** The entries that accumulators give to the coming snapshot's summary, and how long the processors took. */
  void preCommit(Map<String, String> facts, long startedNanos) {
    accumulatorBytes =
        facts.entrySet().stream()
            .mapToLong(fact -> (fact.getKey() + fact.getValue()).getBytes(StandardCharsets.UTF_8).length)
            .sum();
    preCommitMs = millisSince(startedNanos);
  }

  /** A commit succeeded with these entries of processors in its summary. */
  void committed(Map<String, String> snapshotProperties) {
    try {
      lateRecords.inc(Long.parseLong(snapshotProperties.getOrDefault(LATE_RECORDS, "0")));
    } catch (NumberFormatException e) {
      // A processor of the user's may write what it likes under this key; it is no number of late records then.
    }
  }

  /** The processors are done with a commit that left the table with these properties. */
  void postCommit(Map<String, String> tableProperties, long startedNanos) {
    postCommitMs = millisSince(startedNanos);
    try {
      String watermark = tableProperties.get(watermarkKey);
      watermarkMs = watermark == null ? UNKNOWN : Instant.parse(watermark).toEpochMilli();
    } catch (DateTimeException e) {
      watermarkMs = UNKNOWN;
    }
  }

  private static long millisSince(long startedNanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNanos);
  }
}
