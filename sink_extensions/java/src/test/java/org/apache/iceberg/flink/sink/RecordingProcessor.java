package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.CommitContext;
import io.github.icebergfinalization.api.CommitProcessor;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Records its calls, and fails or acts as a test asks for; the MiniCluster runs in this JVM. */
public class RecordingProcessor implements CommitProcessor {

  /** A call: {@code step} is {@code pre} or {@code post}. */
  record Call(
      String step, String table, long checkpointId, OptionalLong snapshotId, Map<String, Map<String, String>> facts) {

    boolean isBefore() {
      return step.equals("pre");
    }
  }

  static final List<Call> CALLS = new CopyOnWriteArrayList<>();
  static final AtomicInteger PRE_COMMIT_FAILURES = new AtomicInteger();
  static final AtomicInteger POST_COMMIT_FAILURES = new AtomicInteger();

  /** What a test does around a commit, before a failure that it asks for. */
  static volatile Consumer<CommitContext> before;

  static volatile Consumer<CommitContext> after;

  static void clear() {
    CALLS.clear();
    PRE_COMMIT_FAILURES.set(0);
    POST_COMMIT_FAILURES.set(0);
    before = context -> {};
    after = context -> {};
  }

  static List<Call> preCommits() {
    return CALLS.stream().filter(Call::isBefore).toList();
  }

  static List<Call> postCommits() {
    return CALLS.stream().filter(call -> !call.isBefore()).toList();
  }

  @Override
  public String name() {
    return "recording";
  }

  @Override
  public void preCommit(CommitContext context) {
    record("pre", context);
    before.accept(context);
    if (PRE_COMMIT_FAILURES.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("abort this commit");
    }
    context.setSnapshotProperty("test.checkpoint", Long.toString(context.checkpointId()));
  }

  @Override
  public void postCommit(CommitContext context) {
    record("post", context);
    after.accept(context);
    if (POST_COMMIT_FAILURES.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("after the commit");
    }
    context.compareAndSetProperties(Map.of("test.processed", Long.toString(context.checkpointId())));
  }

  private static void record(String step, CommitContext context) {
    String table = context.table().name();
    CALLS.add(new Call(step, table, context.checkpointId(), context.snapshotId(), context.accumulators()));
  }
}
