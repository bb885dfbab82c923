package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.Accumulator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.flink.api.common.JobInfo;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.TaskInfoImpl;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.metrics.groups.SinkCommitterMetricGroup;
import org.apache.flink.runtime.metrics.groups.InternalSinkCommitterMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.util.IOUtils;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.io.TaskWriter;
import org.apache.iceberg.io.WriteResult;

/** Committers of a sink with {@code field-stats} and a {@link RecordingProcessor}, and what they commit. */
final class CommitterFixture implements AutoCloseable {

  private static final String OPERATOR = "operator";
  private static final Map<String, String> FIELD_STATS =
      Map.of(
          "sink.accumulators", "field-stats",
          "sink.field-stats.columns", "id",
          "sink.commit-processors", RecordingProcessor.class.getName());

  private final TableLoader loader;
  private final Table table;
  private final Map<String, String> options;
  private final List<Committer<IcebergCommittable>> started = new ArrayList<>();

  CommitterFixture(TableLoader loader, Table table) {
    this(loader, table, FIELD_STATS);
  }

  /** @param options of the extensions; none for the standard sink's own committer */
  CommitterFixture(TableLoader loader, Table table, Map<String, String> options) {
    this.loader = loader;
    this.table = table;
    this.options = options;
  }

  /** A committer as a job starts it, first or again; with more options by key and value. */
  @SuppressWarnings("unchecked")
  Running start(String... more) throws IOException {
    IcebergSink standard =
        IcebergSink.forRowData(
                SinkTesting.rows(StreamExecutionEnvironment.createLocalEnvironment(), 1, 0, SinkTesting::row))
            .tableLoader(loader)
            .build();
    Committer<IcebergCommittable> committer =
        ((SupportsCommitter<IcebergCommittable>) ExtensibleIcebergSink.extend(standard, extensions(more)))
            .createCommitter(new Context());
    started.add(committer);
    return new Running(committer);
  }

  private Extensions extensions(String... more) {
    Map<String, String> all = new HashMap<>(options);
    for (int i = 0; i < more.length; i += 2) {
      all.put(more[i], more[i + 1]);
    }
    return Extensions.of(all, new Configuration());
  }

  @Override
  public void close() throws Exception {
    IOUtils.closeAll(started);
  }

  /** The files of rows {@code from} (inclusive) to {@code to}. */
  WriteResult write(long from, long to) throws IOException {
    RowDataTaskWriterFactory factory =
        new RowDataTaskWriterFactory(
            table, SinkTesting.ROW_TYPE, Long.MAX_VALUE, FileFormat.PARQUET, Map.of(), Set.of(), false);
    factory.initialize(0, 0);
    try (TaskWriter<RowData> writer = factory.create()) {
      for (long index = from; index < to; index++) {
        writer.write(SinkTesting.row(index));
      }
      return writer.complete();
    }
  }

  /** What a checkpoint leaves to commit, with those rows and their facts, as it comes out of Flink's state. */
  IcebergCommittable committable(String jobId, long checkpointId, long from, long to) throws IOException {
    ManifestOutputFileFactory manifests =
        FlinkManifestUtil.createOutputFileFactory(() -> table, table.properties(), jobId, OPERATOR, 0, 0);
    DeltaManifests files =
        FlinkManifestUtil.writeCompletedFiles(
            write(from, to), () -> manifests.create(checkpointId), table.spec(), TableUtil.formatVersion(table));
    byte[] bytes = SimpleVersionedSerialization.writeVersionAndSerialize(DeltaManifestsSerializer.INSTANCE, files);
    ExtensibleCommittable.Serializer state = new ExtensibleCommittable.Serializer();
    IcebergCommittable standard = new IcebergCommittable(bytes, jobId, OPERATOR, checkpointId);
    return state.deserialize(state.getVersion(), state.serialize(new ExtensibleCommittable(standard, facts(from, to))));
  }

  /** The facts of rows {@code from} (inclusive) to {@code to}, by accumulator. */
  Map<String, Map<String, String>> facts(long from, long to) {
    Map<String, Map<String, String>> facts = new LinkedHashMap<>();
    for (Accumulator accumulator : extensions().openAccumulators(SinkTesting.ROW_TYPE)) {
      for (long index = from; index < to; index++) {
        accumulator.add(SinkTesting.row(index));
      }
      facts.put(accumulator.name(), accumulator.merge(from == to ? List.of() : List.of(accumulator.snapshot())));
    }
    return facts;
  }

  /** The same as the standard sink leaves it. */
  IcebergCommittable standard(IcebergCommittable committable) {
    return new IcebergCommittable(
        committable.manifest(), committable.jobId(), committable.operatorId(), committable.checkpointId());
  }

  /** A committer that was started. */
  record Running(Committer<IcebergCommittable> committer) {

    Requests commit(IcebergCommittable... committables) throws IOException, InterruptedException {
      List<Long> alreadyCommitted = new ArrayList<>();
      List<Committer.CommitRequest<IcebergCommittable>> requests = new ArrayList<>();
      for (IcebergCommittable committable : committables) {
        requests.add(new Request(committable, alreadyCommitted));
      }
      committer.commit(requests);
      return new Requests(alreadyCommitted);
    }
  }

  /** What became of requests: the checkpoints that were found committed. */
  record Requests(List<Long> alreadyCommitted) {}

  private record Request(IcebergCommittable committable, List<Long> alreadyCommitted)
      implements Committer.CommitRequest<IcebergCommittable> {

    @Override
    public IcebergCommittable getCommittable() {
      return committable;
    }

    @Override
    public int getNumberOfRetries() {
      return 0;
    }

    @Override
    public void signalFailedWithKnownReason(Throwable reason) {
      throw new AssertionError(reason);
    }

    @Override
    public void signalFailedWithUnknownReason(Throwable reason) {
      throw new AssertionError(reason);
    }

    @Override
    public void retryLater() {
      throw new AssertionError("a commit is not put off");
    }

    @Override
    public void updateAndRetryLater(IcebergCommittable other) {
      throw new AssertionError("a commit is not put off");
    }

    @Override
    public void signalAlreadyCommitted() {
      alreadyCommitted.add(committable.checkpointId());
    }
  }

  /** The first subtask of a job of one. */
  private static final class Context implements CommitterInitContext {

    @Override
    public SinkCommitterMetricGroup metricGroup() {
      return InternalSinkCommitterMetricGroup.wrap(UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup());
    }

    @Override
    public OptionalLong getRestoredCheckpointId() {
      return OptionalLong.empty();
    }

    @Override
    public JobInfo getJobInfo() {
      throw new UnsupportedOperationException("nobody asks");
    }

    @Override
    public TaskInfo getTaskInfo() {
      return new TaskInfoImpl("committer", 1, 0, 1, 0);
    }
  }
}
