package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.Accumulator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.runtime.checkpoint.CheckpointIDCounter;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.connector.sink2.CommittableSummary;
import org.apache.flink.streaming.api.connector.sink2.CommittableWithLineage;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.types.logical.RowType;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.io.WriteResult;

/**
 * Collects what all writers give at a checkpoint into one committable: files into manifests, as the standard
 * {@link IcebergWriteAggregator} does with the same helpers, and accumulator states into merged facts.
 */
final class ExtensibleWriteAggregator extends AbstractStreamOperator<CommittableMessage<IcebergCommittable>>
    implements OneInputStreamOperator<
        CommittableMessage<ExtensibleWriteResult>, CommittableMessage<IcebergCommittable>> {

  private static final long serialVersionUID = 1L;
  private static final byte[] NO_MANIFESTS = new byte[0];

  private final TableLoader tableLoader;
  private final RowType rowType;
  private final Extensions extensions;
  private final List<ExtensibleWriteResult> results = new ArrayList<>();
  private long lastCheckpointId = CheckpointIDCounter.INITIAL_CHECKPOINT_ID - 1;

  private transient ListState<Long> lastCheckpointState;
  private transient Table table;
  private transient List<Accumulator> accumulators;
  private transient ManifestOutputFileFactory manifestFiles;

  ExtensibleWriteAggregator(TableLoader tableLoader, RowType rowType, Extensions extensions) {
    this.tableLoader = tableLoader;
    this.rowType = rowType;
    this.extensions = extensions;
  }

  /**
   * Keeps the last checkpoint's id in state. Flink tells an operator without state nothing of the checkpoint it restores
   * from; input that ends before the next barrier would then be numbered from 1 again, and the committer would take it for
   * a commit of long ago and drop it (the standard aggregator has this gap).
   */
  @Override
  public void initializeState(StateInitializationContext context) throws Exception {
    super.initializeState(context);
    lastCheckpointState =
        context.getOperatorStateStore().getListState(new ListStateDescriptor<>("last-checkpoint", Types.LONG));
    context.getRestoredCheckpointId().ifPresent(checkpointId -> lastCheckpointId = checkpointId);
    for (long checkpointId : lastCheckpointState.get()) {
      lastCheckpointId = Math.max(lastCheckpointId, checkpointId);
    }
  }

  @Override
  public void snapshotState(StateSnapshotContext context) throws Exception {
    super.snapshotState(context);
    lastCheckpointState.update(List.of(context.getCheckpointId()));
  }

  @Override
  public void open() {
    if (!tableLoader.isOpen()) {
      tableLoader.open();
    }
    table = tableLoader.loadTable();
    accumulators = extensions.openAccumulators(rowType);
    manifestFiles =
        FlinkManifestUtil.createOutputFileFactory(
            () -> table,
            table.properties(),
            flinkJobId(),
            getOperatorID().toString(),
            getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(),
            getRuntimeContext().getTaskInfo().getAttemptNumber());
  }

  private String flinkJobId() {
    return getContainingTask().getEnvironment().getJobID().toString();
  }

  @Override
  public void processElement(StreamRecord<CommittableMessage<ExtensibleWriteResult>> element) {
    if (element.isRecord() && element.getValue() instanceof CommittableWithLineage<ExtensibleWriteResult> message) {
      results.add(message.getCommittable());
    }
  }

  @Override
  public void finish() throws IOException {
    prepareSnapshotPreBarrier(lastCheckpointId + 1);
  }

  @Override
  public void prepareSnapshotPreBarrier(long checkpointId) throws IOException {
    if (checkpointId == lastCheckpointId) {
      // finish() came before the final checkpoint and has sent everything under this id.
      return;
    }
    lastCheckpointId = checkpointId;
    IcebergCommittable standard =
        new IcebergCommittable(
            writeManifests(checkpointId), flinkJobId(), getRuntimeContext().getOperatorUniqueID(), checkpointId);
    IcebergCommittable committable = new ExtensibleCommittable(standard, mergeAccumulators());
    output.collect(new StreamRecord<>(new CommittableSummary<>(0, 1, checkpointId, 1, 1, 0)));
    output.collect(new StreamRecord<>(new CommittableWithLineage<>(committable, checkpointId, 0)));
    results.clear();
  }

  private byte[] writeManifests(long checkpointId) throws IOException {
    if (results.isEmpty()) {
      return NO_MANIFESTS;
    }
    List<WriteResult> files = results.stream().map(ExtensibleWriteResult::files).toList();
    return SimpleVersionedSerialization.writeVersionAndSerialize(
        DeltaManifestsSerializer.INSTANCE,
        FlinkManifestUtil.writeCompletedFiles(
            WriteResult.builder().addAll(files).build(),
            () -> manifestFiles.create(checkpointId),
            table.spec(),
            TableUtil.formatVersion(table)));
  }

  private Map<String, Map<String, String>> mergeAccumulators() {
    Map<String, Map<String, String>> merged = new LinkedHashMap<>();
    for (Accumulator accumulator : accumulators) {
      List<byte[]> snapshots =
          results.stream().map(result -> result.snapshots().get(accumulator.name())).filter(Objects::nonNull).toList();
      merged.put(accumulator.name(), accumulator.merge(snapshots));
    }
    Map<String, String> eventTime = merged.get(Extensions.EVENT_TIME);
    if (eventTime != null) {
      sourceWatermarkMs().ifPresent(ms -> eventTime.put("source-watermark-ms", Long.toString(ms)));
    }
    return merged;
  }

  /** The instant up to which the source was read: the least of all writers' Flink watermarks, where each has one. */
  private OptionalLong sourceWatermarkMs() {
    OptionalLong least = results.stream().mapToLong(ExtensibleWriteResult::sourceWatermarkMs).min();
    boolean known =
        least.isPresent()
            && least.getAsLong() != ExtensibleWriteResult.NO_WATERMARK
            && least.getAsLong() != Watermark.MAX_WATERMARK.getTimestamp();
    return known ? least : OptionalLong.empty();
  }

  @Override
  public void close() throws Exception {
    super.close();
    tableLoader.close();
  }
}
