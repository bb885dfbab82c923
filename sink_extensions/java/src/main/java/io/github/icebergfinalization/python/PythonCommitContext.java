package io.github.icebergfinalization.python;

import io.github.icebergfinalization.api.CommitContext;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.type.TypeReference;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;

/**
 * The {@link CommitContext} in the form that Python reads: each call over the bridge is a round trip, so everything that
 * belongs together comes in one JSON text.
 */
public final class PythonCommitContext {

  private static final ObjectMapper JSON = new ObjectMapper();

  private final CommitContext context;

  PythonCommitContext(CommitContext context) {
    this.context = context;
  }

  /** Table name, branch, job, checkpoint, snapshot, facts and table properties. */
  public String stateJson() throws JsonProcessingException {
    Map<String, Object> state = new LinkedHashMap<>();
    state.put("table", context.table().name());
    state.put("branch", context.branch());
    state.put("job_id", context.jobId());
    state.put("checkpoint_id", context.checkpointId());
    state.put("snapshot_id", context.snapshotId().isPresent() ? context.snapshotId().getAsLong() : null);
    state.put("accumulators", context.accumulators());
    state.put("properties", context.properties());
    return JSON.writeValueAsString(state);
  }

  /** Snapshots of the branch, newest first. */
  public String lineageJson(int limit) throws JsonProcessingException {
    List<Map<String, Object>> lineage =
        context.lineage(limit).stream().map(PythonCommitContext::describe).toList();
    return JSON.writeValueAsString(lineage);
  }

  private static Map<String, Object> describe(Snapshot snapshot) {
    Map<String, Object> described = new LinkedHashMap<>();
    described.put("snapshot_id", snapshot.snapshotId());
    described.put("parent_id", snapshot.parentId());
    described.put("timestamp_ms", snapshot.timestampMillis());
    described.put("operation", snapshot.operation());
    described.put("summary", snapshot.summary());
    return described;
  }

  public void setSnapshotProperty(String key, String value) {
    context.setSnapshotProperty(key, value);
  }

  /** @param updatesJson an object of strings */
  public boolean compareAndSetProperties(String updatesJson) throws JsonProcessingException {
    return context.compareAndSetProperties(JSON.readValue(updatesJson, new TypeReference<Map<String, String>>() {}));
  }

  public void refresh() {
    context.refresh();
  }

  /** The live Java table. */
  public Table table() {
    return context.table();
  }
}
