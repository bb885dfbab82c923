package io.github.icebergfinalization.api;

import java.util.Map;

/**
 * Runs around each commit, in the one committer of a sink.
 *
 * <p>Found by {@link #name()} through {@link java.util.ServiceLoader}, or by class name (public constructor without
 * arguments), in {@code sink.commit-processors}.
 */
public interface CommitProcessor extends AutoCloseable {

  /** The name in {@code sink.commit-processors}. */
  String name();

  /** Prepares for a table with the given properties and hints. Called once, when the committer starts. */
  default void open(Map<String, String> options) throws Exception {}

  /**
   * Runs before a checkpoint is committed. May set snapshot properties.
   *
   * @throws Exception to abort: nothing is written, the job fails over, and the same commit is tried again
   */
  default void preCommit(CommitContext context) throws Exception {}

  /**
   * Runs once the checkpoint is durable in the table, and again after a restart, when it may not have finished; also
   * once when the committer starts, for the newest snapshot. So it must be idempotent.
   */
  default void postCommit(CommitContext context) throws Exception {}

  @Override
  default void close() throws Exception {}
}
