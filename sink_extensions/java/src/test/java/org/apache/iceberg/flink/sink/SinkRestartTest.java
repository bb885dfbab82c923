package org.apache.iceberg.flink.sink;

import static org.apache.iceberg.flink.sink.SinkTesting.EVENT_TIME;
import static org.apache.iceberg.flink.sink.SinkTesting.WATERMARK;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DistributionMode;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.flink.maintenance.api.ExpireSnapshotsConfig;
import org.apache.iceberg.flink.maintenance.api.FlinkMaintenanceConfig;
import org.apache.iceberg.flink.maintenance.api.RewriteDataFilesConfig;
import org.apache.iceberg.flink.sink.FaultyCatalog.Fault;
import org.apache.iceberg.flink.util.FlinkCompatibilityUtil;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Jobs that fail, stop and start again, in other sizes and from other states; and a table that is kept up beside them. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class SinkRestartTest {

  @RegisterExtension static final MiniClusterExtension CLUSTER = SinkTesting.cluster();

  private static final int ROWS = 4_000;
  private static final int PER_CHECKPOINT = 20;

  @TempDir Path folder;
  private Table table;

  @BeforeEach
  void setUp() {
    RecordingProcessor.clear();
    FaultyCatalog.clear();
    PartitionSpec byHour = PartitionSpec.builderFor(SinkTesting.SCHEMA).hour("ts").build();
    table = SinkTesting.create(folder, "restarted", byHour, Map.of("format-version", "2"));
  }

  @Test
  void aJobIsRestoredInTwoSubtasksAndInOneAgain() throws Exception {
    String savepoint = stopAfterCommits(start(1, null, PER_CHECKPOINT));
    savepoint = stopAfterCommits(start(2, savepoint, PER_CHECKPOINT));
    start(1, savepoint, 0).getJobExecutionResult().get();
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(ROWS));
    SinkTesting.assertFactsAndCalls(table, "main", ROWS);
    assertThat(SinkTesting.snapshots(table).stream().map(snapshot -> snapshot.summary().get(SinkUtil.FLINK_JOB_ID)).distinct())
        .hasSize(3);
  }

  @Test
  void aJobRestoredFromAnOlderSavepointCountsWhatItWritesAgain() throws Exception {
    JobClient first = start(2, null, PER_CHECKPOINT);
    awaitCommits(2);
    String savepoint = first.triggerSavepoint(savepoints(), SavepointFormatType.CANONICAL).get();
    awaitCommits(SinkTesting.snapshots(table).size() + 2);
    cancel(first);
    Instant reached = watermark();
    Snapshot newest = SinkTesting.snapshots(table).get(SinkTesting.snapshots(table).size() - 1);
    RecordingProcessor.CALLS.clear();
    start(2, savepoint, 0).getJobExecutionResult().get();
    assertThat(RecordingProcessor.CALLS.get(0).snapshotId()).isEqualTo(OptionalLong.of(newest.snapshotId()));
    Map<Long, Integer> ids = SinkTesting.ids(table, "main");
    assertThat(ids.keySet()).isEqualTo(SinkTesting.once(ROWS).keySet());
    long twice = ids.values().stream().filter(times -> times == 2).count();
    assertThat(twice).isPositive();
    assertThat(SinkTesting.totalRecords(table)).isEqualTo(ROWS + twice);
    assertThat(SinkTesting.counted(SinkTesting.snapshots(table))).isEqualTo(ROWS + twice);
    assertThat(watermark()).isAfterOrEqualTo(reached);
  }

  @Test
  void aJobStartedWithoutItsStateCountsEveryRowAgain() throws Exception {
    stopAfterCommits(start(2, null, PER_CHECKPOINT));
    long before = SinkTesting.totalRecords(table);
    Instant reached = watermark();
    start(2, null, 0).getJobExecutionResult().get();
    assertThat(SinkTesting.ids(table, "main").keySet()).isEqualTo(SinkTesting.once(ROWS).keySet());
    assertThat(SinkTesting.totalRecords(table)).isEqualTo(before + ROWS);
    SinkTesting.assertFactsAndCalls(table, "main", before + ROWS);
    assertThat(watermark()).isAfterOrEqualTo(reached);
  }

  @Test
  void aJobWhoseCommitsGetLostOnTheWayWritesEveryRowOnce() throws Exception {
    FaultyCatalog.DATA_FAULTS.addAll(List.of(Fault.ANSWER_LOST, Fault.REQUEST_LOST, Fault.ANSWER_FOUND, Fault.ANSWER_LOST));
    FaultyCatalog.OTHER_FAULTS.addAll(List.of(Fault.ANSWER_LOST, Fault.REQUEST_LOST, Fault.ANSWER_FOUND, Fault.REQUEST_LOST));
    RecordingProcessor.POST_COMMIT_FAILURES.set(1);
    start(2, null, ROWS / 8).getJobExecutionResult().get();
    assertThat(FaultyCatalog.DATA_FAULTS).isEmpty();
    assertThat(FaultyCatalog.OTHER_FAULTS).isEmpty();
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(ROWS));
    SinkTesting.assertFactsAndCalls(table, "main", ROWS);
  }

  @Test
  void unalignedCheckpointsAreRestoredWithEveryRowCountedOnce() throws Exception {
    FailOnce.reset();
    Configuration config = SinkTesting.configuration(2, "20 ms");
    config.setString("execution.checkpointing.unaligned.enabled", "true");
    config.setString("execution.checkpointing.aligned-checkpoint-timeout", "0 ms");
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(config);
    DataStream<RowData> rows =
        SinkTesting.rows(environment, ROWS, ROWS / 8, SinkTesting::row)
            .map(new FailOnce())
            .returns(FlinkCompatibilityUtil.toTypeInfo(SinkTesting.ROW_TYPE));
    SinkTesting.sink(
        rows, SinkTesting.loader(folder, table), EVENT_TIME, sink -> sink.distributionMode(DistributionMode.HASH));
    environment.execute();
    assertThat(FailOnce.FAILED).isTrue();
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(ROWS));
    SinkTesting.assertFactsAndCalls(table, "main", ROWS);
  }

  /** Fails once, in the middle of the rows after the second checkpoint. */
  public static final class FailOnce implements MapFunction<RowData, RowData>, CheckpointListener {

    static final AtomicBoolean FAILED = new AtomicBoolean();
    private static final AtomicInteger CHECKPOINTS = new AtomicInteger();
    private static final AtomicInteger ROWS_SINCE = new AtomicInteger();

    static void reset() {
      FAILED.set(false);
      CHECKPOINTS.set(0);
      ROWS_SINCE.set(0);
    }

    @Override
    public RowData map(RowData row) {
      if (CHECKPOINTS.get() > 3 && ROWS_SINCE.incrementAndGet() > 100 && FAILED.compareAndSet(false, true)) {
        throw new IllegalStateException("fail once");
      }
      return row;
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
      CHECKPOINTS.incrementAndGet();
    }
  }

  @Test
  void maintenanceAfterCommitsCompactsAndExpiresWhileFactsGoOn() throws Exception {
    UnaryOperator<IcebergSink.Builder> maintained =
        sink ->
            sink.rewriteDataFiles(
                    Map.of(
                        RewriteDataFilesConfig.SCHEDULE_ON_COMMIT_COUNT, "2",
                        RewriteDataFilesConfig.PREFIX + "min-input-files", "2"))
                .expireSnapshots(
                    Map.of(
                        ExpireSnapshotsConfig.SCHEDULE_ON_COMMIT_COUNT, "3",
                        ExpireSnapshotsConfig.MAX_SNAPSHOT_AGE_SECONDS, "1",
                        ExpireSnapshotsConfig.RETAIN_LAST, "2"))
                .set(FlinkMaintenanceConfig.RATE_LIMIT, "1")
                .set(FlinkMaintenanceConfig.LOCK_CHECK_DELAY, "1");
    JobClient job = start(2, null, 4, maintained);
    SinkTesting.await(
        () -> SinkTesting.snapshots(table).stream().anyMatch(snapshot -> snapshot.operation().equals(DataOperations.REPLACE)),
        "a compaction");
    SinkTesting.await(this::firstSnapshotIsGone, "an expiry");
    stopAfterCommits(job);
    Map<Long, Integer> ids = SinkTesting.ids(table, "main");
    assertThat(ids.values()).containsOnly(1);
    assertThat((long) ids.size()).isEqualTo(SinkTesting.totalRecords(table)).isEqualTo(countedByCalls());
    assertThat(watermark()).isAfter(Instant.ofEpochMilli(SinkTesting.START_MS - 1));
  }

  private boolean firstSnapshotIsGone() {
    table.refresh();
    OptionalLong first =
        RecordingProcessor.postCommits().stream()
            .flatMapToLong(call -> call.snapshotId().stream())
            .findFirst();
    return first.isPresent() && table.snapshot(first.getAsLong()) == null;
  }

  /** The rows that processors were told of, each durable checkpoint once. */
  private static long countedByCalls() {
    return RecordingProcessor.postCommits().stream()
        .filter(call -> call.checkpointId() > 0 && call.snapshotId().isPresent())
        .distinct()
        .mapToLong(call -> Long.parseLong(call.facts().get("event-time").get("count")))
        .sum();
  }

  private JobClient start(int parallelism, String savepoint, int perCheckpoint) throws Exception {
    return start(parallelism, savepoint, perCheckpoint, sink -> sink);
  }

  private JobClient start(
      int parallelism, String savepoint, int perCheckpoint, UnaryOperator<IcebergSink.Builder> choices) throws Exception {
    Configuration config = SinkTesting.configuration(parallelism, "50 ms");
    if (savepoint != null) {
      config.setString("execution.state-recovery.path", savepoint);
    }
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(config);
    SinkTesting.sink(
        SinkTesting.rows(environment, ROWS, perCheckpoint, SinkTesting::row),
        SinkTesting.loader(folder, table),
        EVENT_TIME,
        choices);
    return environment.executeAsync();
  }

  private String savepoints() {
    return folder.resolve("savepoints").toUri().toString();
  }

  /** Lets a job commit a few times more, and stops it. */
  private String stopAfterCommits(JobClient job) throws Exception {
    awaitCommits(SinkTesting.snapshots(table).size() + 2);
    return job.stopWithSavepoint(false, savepoints(), SavepointFormatType.CANONICAL).get();
  }

  private void awaitCommits(int count) throws Exception {
    SinkTesting.await(() -> SinkTesting.snapshots(table).size() >= count, "commit " + count);
  }

  private static void cancel(JobClient job) throws Exception {
    job.cancel().get();
    SinkTesting.await(() -> job.getJobStatus().join().isGloballyTerminalState(), "the end of the job");
  }

  private Instant watermark() {
    table.refresh();
    return Instant.parse(table.properties().get(WATERMARK));
  }
}
