package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.CommitContext;
import io.github.icebergfinalization.api.CommitProcessor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Records its calls, and fails as often as a test asks for; the MiniCluster runs in this JVM. */
public class RecordingProcessor implements CommitProcessor {

  static final List<String> CALLS = new CopyOnWriteArrayList<>();
  static final List<Map<String, String>> FACTS = new CopyOnWriteArrayList<>();
  static final AtomicInteger PRE_COMMIT_FAILURES = new AtomicInteger();
  static final AtomicInteger POST_COMMIT_FAILURES = new AtomicInteger();

  static void clear() {
    CALLS.clear();
    FACTS.clear();
    PRE_COMMIT_FAILURES.set(0);
    POST_COMMIT_FAILURES.set(0);
  }

  @Override
  public String name() {
    return "recording";
  }

  @Override
  public void preCommit(CommitContext context) {
    CALLS.add("pre " + context.checkpointId());
    FACTS.add(context.accumulators().getOrDefault("event-time", Map.of()));
    if (PRE_COMMIT_FAILURES.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("abort this commit");
    }
    context.setSnapshotProperty("test.checkpoint", Long.toString(context.checkpointId()));
  }

  @Override
  public void postCommit(CommitContext context) {
    CALLS.add("post " + context.checkpointId() + (context.snapshotId().isPresent() ? " durable" : " empty"));
    if (POST_COMMIT_FAILURES.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("after the commit");
    }
    context.compareAndSetProperties(Map.of("test.processed", Long.toString(context.checkpointId())));
  }
}
