package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.CommitProcessor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.IOUtils;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The standard committer, one checkpoint at a time, with processors around each commit.
 *
 * <p>The standard committer reads its snapshot properties from a map at each commit; that map is filled here with the
 * checkpoint's facts and what the processors set.
 */
final class ExtensibleCommitter implements Committer<IcebergCommittable> {

  private static final Logger LOG = LoggerFactory.getLogger(ExtensibleCommitter.class);
  private static final int POST_COMMIT_ATTEMPTS = 3;

  private final Committer<IcebergCommittable> standard;
  private final Map<String, String> snapshotProperties;
  private final Map<String, String> userProperties;
  private final Table table;
  private final String branch;
  private final Extensions extensions;
  private final Map<String, String> policyHints;
  private final ExtensionMetrics metrics;
  private final List<CommitProcessor> processors = new ArrayList<>();
  private boolean started;

  /**
   * Decorates a committer.
   *
   * @param snapshotProperties the map that the standard committer reads at each commit
   * @param table the standard committer's own: what either of the two reads of it, the other need not read again
   */
  ExtensibleCommitter(
      Committer<IcebergCommittable> standard,
      Map<String, String> snapshotProperties,
      Table table,
      String branch,
      Extensions extensions,
      Map<String, String> policyHints,
      MetricGroup metricGroup) {
    this.standard = standard;
    this.snapshotProperties = snapshotProperties;
    this.userProperties = Map.copyOf(snapshotProperties);
    this.table = table;
    this.branch = branch;
    this.extensions = extensions;
    this.policyHints = policyHints;
    this.metrics = new ExtensionMetrics(metricGroup, table.name(), branch);
  }

  /**
   * Starts the processors, and lets them finish what a predecessor may have left undone after its last commit.
   *
   * <p>Flink makes a committer in every subtask but commits in the first only: it alone starts processors.
   */
  void start() throws IOException {
    started = true;
    for (CommitProcessor processor : extensions.createProcessors()) {
      processors.add(processor);
      try {
        processor.open(extensions.options());
      } catch (Exception e) {
        throw new IOException("commit processor " + processor.name() + " did not start", e);
      }
    }
    TableCommitContext context = new TableCommitContext(table, branch, "", -1, Map.of(), policyHints);
    if (!context.lineage(1).isEmpty()) {
      context.committedAs(OptionalLong.of(context.lineage(1).get(0).snapshotId()));
      postCommit(context);
    }
  }

  @Override
  public void commit(Collection<CommitRequest<IcebergCommittable>> requests)
      throws IOException, InterruptedException {
    List<CommitRequest<IcebergCommittable>> ordered = new ArrayList<>(requests);
    ordered.sort(Comparator.comparing(request -> request.getCommittable().checkpointId()));
    for (CommitRequest<IcebergCommittable> request : ordered) {
      commit(request);
    }
  }

  private void commit(CommitRequest<IcebergCommittable> request) throws IOException, InterruptedException {
    if (!started) {
      start();
    }
    IcebergCommittable committable = request.getCommittable();
    Map<String, Map<String, String>> accumulators = ExtensibleCommittable.accumulatorsOf(committable);
    TableCommitContext context =
        new TableCommitContext(
            table, branch, committable.jobId(), committable.checkpointId(), accumulators, policyHints);
    context.refresh();
    if (isCommitted(committable)) {
      // By an attempt before this one, maybe late: the standard committer would look at the table as it was at its start.
      request.signalAlreadyCommitted();
    } else {
      preCommit(context);
      snapshotProperties.clear();
      snapshotProperties.putAll(userProperties);
      snapshotProperties.putAll(summaryEntries(accumulators));
      snapshotProperties.putAll(context.snapshotProperties());
      standard.commit(List.of(request));
    }
    metrics.committed(context.snapshotProperties());
    context.refresh();
    context.committedAs(findSnapshot(committable));
    postCommit(context);
  }

  private static Map<String, String> summaryEntries(Map<String, Map<String, String>> accumulators) {
    Map<String, String> entries = new HashMap<>();
    accumulators.forEach(
        (name, facts) -> facts.forEach((key, value) -> entries.put("accumulator." + name + "." + key, value)));
    return entries;
  }

  private boolean isCommitted(IcebergCommittable committable) {
    return SinkUtil.getMaxCommittedCheckpointId(table, committable.jobId(), committable.operatorId(), branch)
        >= committable.checkpointId();
  }

  /**
   * The snapshot of this checkpoint, if it made one: the standard committer skips most empty checkpoints. Where a restart
   * finds it committed, snapshots of later checkpoints may lie above it.
   */
  private OptionalLong findSnapshot(IcebergCommittable committable) {
    Snapshot snapshot = table.snapshot(branch);
    while (snapshot != null) {
      Map<String, String> summary = snapshot.summary();
      if (committable.jobId().equals(summary.get(SinkUtil.FLINK_JOB_ID))
          && committable.operatorId().equals(summary.get(SinkUtil.OPERATOR_ID))) {
        long checkpointId = Long.parseLong(summary.get(SinkUtil.MAX_COMMITTED_CHECKPOINT_ID));
        if (checkpointId <= committable.checkpointId()) {
          return checkpointId == committable.checkpointId()
              ? OptionalLong.of(snapshot.snapshotId())
              : OptionalLong.empty();
        }
      }
      snapshot = snapshot.parentId() == null ? null : table.snapshot(snapshot.parentId());
    }
    return OptionalLong.empty();
  }

  private void preCommit(TableCommitContext context) throws IOException {
    long startedNanos = System.nanoTime();
    context.allowSnapshotProperties(true);
    for (CommitProcessor processor : processors) {
      try {
        processor.preCommit(context);
      } catch (Exception e) {
        throw new IOException(
            "commit processor " + processor.name() + " aborted the commit of checkpoint " + context.checkpointId()
                + " to " + table.name() + "; nothing was written", e);
      }
    }
    context.allowSnapshotProperties(false);
    metrics.preCommit(summaryEntries(context.accumulators()), startedNanos);
  }

  private void postCommit(TableCommitContext context) throws IOException {
    long startedNanos = System.nanoTime();
    for (CommitProcessor processor : processors) {
      for (int attempt = 1; ; attempt++) {
        try {
          processor.postCommit(context);
          break;
        } catch (Exception e) {
          String failure =
              "commit processor " + processor.name() + " failed after the commit of checkpoint "
                  + context.checkpointId() + " to " + table.name() + " (attempt " + attempt + ")";
          if (attempt < POST_COMMIT_ATTEMPTS) {
            LOG.warn("{}; trying again", failure, e);
            context.refresh();
          } else if (extensions.failOnPostCommit()) {
            throw new IOException(failure + "; the data is committed, the job fails over and tries this step again", e);
          } else {
            LOG.error("{}; going on, as {}=log asks", failure, Extensions.ON_FAILURE, e);
            break;
          }
        }
      }
    }
    metrics.postCommit(context.properties(), startedNanos);
  }

  @Override
  public void close() throws Exception {
    IOUtils.closeAll(processors);
    standard.close();
  }
}
