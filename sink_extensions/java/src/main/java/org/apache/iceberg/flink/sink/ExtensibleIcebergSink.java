package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.Accumulator;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import org.apache.flink.api.common.SupportsConcurrentExecutionAttempts;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessageTypeInfo;
import org.apache.flink.streaming.api.connector.sink2.SupportsPostCommitTopology;
import org.apache.flink.streaming.api.connector.sink2.SupportsPreCommitTopology;
import org.apache.flink.streaming.api.connector.sink2.SupportsPreWriteTopology;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.table.data.RowData;
import org.apache.iceberg.io.WriteResult;

/**
 * The standard {@link IcebergSink}, with accumulators beside its writers and processors around its commits.
 *
 * <p>It decorates: rows are distributed, written, committed and maintained by the standard sink's own parts. The job
 * graph has the same operators, names, uids and parallelism.
 */
public final class ExtensibleIcebergSink
    implements Sink<RowData>,
        SupportsPreWriteTopology<RowData>,
        SupportsCommitter<IcebergCommittable>,
        SupportsPreCommitTopology<ExtensibleWriteResult, IcebergCommittable>,
        SupportsPostCommitTopology<IcebergCommittable>,
        SupportsConcurrentExecutionAttempts {

  private final IcebergSink standard;
  private final Extensions extensions;
  private final HashMap<String, String> policyHints;

  private ExtensibleIcebergSink(IcebergSink standard, Extensions extensions) {
    this.standard = standard;
    this.extensions = extensions;
    this.policyHints = extensions.policyHints(IcebergSinkParts.table(standard).properties());
  }

  /**
   * Extends a built sink; with no extension it is returned as it is.
   *
   * @throws IllegalArgumentException if an accumulator or processor cannot be found or does not accept the options
   */
  static Sink<RowData> extend(IcebergSink standard, Extensions extensions) {
    if (extensions.isEmpty()) {
      return standard;
    }
    ExtensibleIcebergSink sink = new ExtensibleIcebergSink(standard, extensions);
    sink.openAccumulators();
    extensions.checkProcessors();
    return sink;
  }

  private List<Accumulator> openAccumulators() {
    return extensions.openAccumulators(IcebergSinkParts.rowType(standard));
  }

  @Override
  public DataStream<RowData> addPreWriteTopology(DataStream<RowData> input) {
    return standard.addPreWriteTopology(input);
  }

  @Override
  @SuppressWarnings("unchecked")
  public SinkWriter<RowData> createWriter(WriterInitContext context) {
    return new ExtensibleSinkWriter(
        (CommittingSinkWriter<RowData, WriteResult>) standard.createWriter(context), openAccumulators());
  }

  @Override
  public SimpleVersionedSerializer<ExtensibleWriteResult> getWriteResultSerializer() {
    return new ExtensibleWriteResult.Serializer();
  }

  @Override
  public DataStream<CommittableMessage<IcebergCommittable>> addPreCommitTopology(
      DataStream<CommittableMessage<ExtensibleWriteResult>> writeResults) {
    TypeInformation<CommittableMessage<IcebergCommittable>> type =
        CommittableMessageTypeInfo.of(this::getCommittableSerializer);
    String suffix = IcebergSinkParts.uidSuffix(standard);
    String uid =
        String.format(
            "Sink pre-commit aggregator: %s",
            suffix == null || suffix.isEmpty() ? IcebergSinkParts.table(standard).name() : suffix);
    return writeResults
        .global()
        .transform(
            uid,
            type,
            new ExtensibleWriteAggregator(
                IcebergSinkParts.tableLoader(standard), IcebergSinkParts.rowType(standard), extensions))
        .uid(uid)
        .setParallelism(1)
        .setMaxParallelism(1)
        .global();
  }

  @Override
  public Committer<IcebergCommittable> createCommitter(CommitterInitContext context) throws IOException {
    Committer<IcebergCommittable> standardCommitter = standard.createCommitter(context);
    ExtensibleCommitter committer =
        new ExtensibleCommitter(
            standardCommitter,
            IcebergSinkParts.snapshotProperties(standard),
            IcebergSinkParts.table((IcebergCommitter) standardCommitter),
            IcebergSinkParts.branch(standard),
            extensions,
            policyHints,
            context.metricGroup());
    if (context.getTaskInfo().getIndexOfThisSubtask() == 0) {
      committer.start();
    }
    return committer;
  }

  @Override
  public SimpleVersionedSerializer<IcebergCommittable> getCommittableSerializer() {
    return new ExtensibleCommittable.Serializer();
  }

  @Override
  public void addPostCommitTopology(DataStream<CommittableMessage<IcebergCommittable>> committables) {
    standard.addPostCommitTopology(committables);
  }
}
