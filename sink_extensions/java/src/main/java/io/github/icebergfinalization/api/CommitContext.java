package io.github.icebergfinalization.api;

import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;

/**
 * What a {@link CommitProcessor} sees of one commit.
 *
 * <p>Everything read comes from one pinned version of the table's metadata, until {@link #refresh()} pins the newest.
 */
public interface CommitContext {

  /** A live handle on the table. Its own changes are not guarded; see {@link #compareAndSetProperties}. */
  Table table();

  /** The branch that the sink writes to. */
  String branch();

  /** The Flink job's id, as in the snapshot summary; empty in the call at start-up. */
  String jobId();

  /** The checkpoint being committed; -1 in the call at start-up. */
  long checkpointId();

  /** The merged facts of this checkpoint by accumulator name, keys without prefix; empty in the call at start-up. */
  Map<String, Map<String, String>> accumulators();

  /** The snapshot that this checkpoint became: in {@code postCommit}, empty where an empty checkpoint made none. */
  OptionalLong snapshotId();

  /** The table's properties in the pinned metadata, with {@code finalization.*} hints of the job's statement laid over them. */
  Map<String, String> properties();

  /** Up to {@code limit} snapshots of the branch in the pinned metadata, newest first, along their parents. */
  List<Snapshot> lineage(int limit);

  /**
   * Sets an entry of the coming snapshot's summary.
   *
   * @throws IllegalStateException outside {@code preCommit}
   */
  void setSnapshotProperty(String key, String value);

  /**
   * Sets table properties, if and only if the table's metadata is still the pinned one.
   *
   * @return false if anything about the table changed meanwhile; nothing is written then. Refresh, decide anew, try again
   */
  boolean compareAndSetProperties(Map<String, String> updates);

  /** Pins the table's newest metadata. */
  void refresh();
}
