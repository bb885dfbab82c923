package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.CommitContext;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.iceberg.BaseMetastoreTableOperations;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.hadoop.HadoopTableOperations;

/** A {@link CommitContext} over a loaded table. */
final class TableCommitContext implements CommitContext {

  private final Table table;
  private final TableOperations operations;
  private final String branch;
  private final String jobId;
  private final long checkpointId;
  private final Map<String, Map<String, String>> accumulators;
  private final Map<String, String> policyHints;
  private final Map<String, String> snapshotProperties = new HashMap<>();
  private boolean acceptsSnapshotProperties;
  private OptionalLong snapshotId = OptionalLong.empty();
  private TableMetadata pinned;

  TableCommitContext(
      Table table,
      String branch,
      String jobId,
      long checkpointId,
      Map<String, Map<String, String>> accumulators,
      Map<String, String> policyHints) {
    this.table = table;
    this.operations = ((HasTableOperations) table).operations();
    this.branch = branch;
    this.jobId = jobId;
    this.checkpointId = checkpointId;
    this.accumulators = accumulators;
    this.policyHints = policyHints;
    this.pinned = operations.current();
  }

  void allowSnapshotProperties(boolean allow) {
    acceptsSnapshotProperties = allow;
  }

  void committedAs(OptionalLong id) {
    snapshotId = id;
  }

  Map<String, String> snapshotProperties() {
    return snapshotProperties;
  }

  @Override
  public Table table() {
    return table;
  }

  @Override
  public String branch() {
    return branch;
  }

  @Override
  public String jobId() {
    return jobId;
  }

  @Override
  public long checkpointId() {
    return checkpointId;
  }

  @Override
  public Map<String, Map<String, String>> accumulators() {
    return accumulators;
  }

  @Override
  public OptionalLong snapshotId() {
    return snapshotId;
  }

  @Override
  public Map<String, String> properties() {
    if (policyHints.isEmpty()) {
      return pinned.properties();
    }
    Map<String, String> properties = new HashMap<>(pinned.properties());
    properties.putAll(policyHints);
    return properties;
  }

  @Override
  public List<Snapshot> lineage(int limit) {
    List<Snapshot> lineage = new ArrayList<>();
    SnapshotRef head = pinned.ref(branch);
    Snapshot snapshot = head == null ? null : pinned.snapshot(head.snapshotId());
    while (snapshot != null && lineage.size() < limit) {
      lineage.add(snapshot);
      snapshot = snapshot.parentId() == null ? null : pinned.snapshot(snapshot.parentId());
    }
    return lineage;
  }

  @Override
  public void setSnapshotProperty(String key, String value) {
    if (!acceptsSnapshotProperties) {
      throw new IllegalStateException(
          "snapshot property '" + key + "' can be set in preCommit only: a snapshot that is written does not change");
    }
    snapshotProperties.put(key, value);
  }

  @Override
  public boolean compareAndSetProperties(Map<String, String> updates) {
    TableMetadata.Builder changed = TableMetadata.buildFrom(pinned).setProperties(updates);
    SnapshotRef head = pinned.ref(branch);
    if (!comparesWholeMetadata() && head != null) {
      // A REST catalog would take properties from anyone, at any time: it checks only what else the change names. So the
      // branch is set to where it is, and the change is refused if it has moved. Two writers that decide from one and the
      // same snapshot come to the same decision.
      changed.removeRef(branch).setRef(branch, head);
    }
    try {
      operations.commit(pinned, changed.build());
    } catch (CommitFailedException e) {
      return false;
    } catch (CommitStateUnknownException e) {
      // The answer was lost: look whether the change is there. If it is not, it may be tried again.
      refresh();
      return pinned.properties().entrySet().containsAll(updates.entrySet());
    }
    refresh();
    return true;
  }

  /** Whether the catalog refuses a change if anything about the table is not as it was. */
  private boolean comparesWholeMetadata() {
    return operations instanceof BaseMetastoreTableOperations || operations instanceof HadoopTableOperations;
  }

  @Override
  public void refresh() {
    pinned = operations.refresh();
  }
}
