package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.CommitContext;
import io.github.icebergfinalization.api.CommitProcessor;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;

/**
 * Checks at each commit that the facts are those of the rows being committed.
 *
 * <p>Iceberg counts the records of the data files it adds; the sum of what the accumulators of all writers saw must be
 * the same number, whatever a test does to the job: partitions, deletes, several sinks, failures, empty checkpoints.
 */
public final class FactsCheck implements CommitProcessor {

  private static final String SUMMARY_PREFIX = "accumulator.";

  @Override
  public String name() {
    return "facts-check";
  }

  @Override
  public void preCommit(CommitContext context) {
    Findings.check(
        context.snapshotId().isEmpty(), "%s: preCommit was called after the commit", describe(context));
    checkFacts(context);
  }

  @Override
  public void postCommit(CommitContext context) {
    if (context.checkpointId() < 0) {
      return;
    }
    checkFacts(context);
    if (context.snapshotId().isEmpty()) {
      Findings.check(fact(context, RowCount.ROWS) == 0, "%s: rows, and no snapshot", describe(context));
      return;
    }
    Snapshot snapshot = context.table().snapshot(context.snapshotId().getAsLong());
    Map<String, String> expected = new TreeMap<>();
    context
        .accumulators()
        .forEach((name, facts) -> facts.forEach((key, value) -> expected.put(name + "." + key, value)));
    Map<String, String> found = new TreeMap<>();
    snapshot.summary().forEach(
        (key, value) -> {
          if (key.startsWith(SUMMARY_PREFIX)) {
            found.put(key.substring(SUMMARY_PREFIX.length()), value);
          }
        });
    Findings.check(found.equals(expected), "%s: the summary holds %s", describe(context), found);
    String added = snapshot.summary().getOrDefault(SnapshotSummary.ADDED_RECORDS_PROP, "0");
    if (!context.accumulators().isEmpty()) {
      Findings.check(
          Long.parseLong(added) == fact(context, RowCount.WRITTEN),
          "%s: %s records were added", describe(context), added);
    }
    Findings.commitChecked();
  }

  /** Every column's values and nulls are together as many as the rows. */
  private static void checkFacts(CommitContext context) {
    if (Findings.committerOnly()) {
      return;
    }
    Findings.check(
        context.accumulators().keySet().equals(Rerouting.ACCUMULATORS), "%s: facts are missing", describe(context));
    Map<String, String> columns = context.accumulators().getOrDefault("field-stats", Map.of());
    long rows = fact(context, RowCount.ROWS);
    columns.forEach(
        (key, value) -> {
          if (key.endsWith(".count")) {
            String nulls = columns.get(key.substring(0, key.length() - "count".length()) + "nulls");
            Findings.check(
                Long.parseLong(value) + Long.parseLong(nulls) == rows, "%s: %s is wrong", describe(context), key);
          }
        });
  }

  private static long fact(CommitContext context, String key) {
    return Long.parseLong(context.accumulators().getOrDefault(RowCount.NAME, Map.of()).getOrDefault(key, "0"));
  }

  private static String describe(CommitContext context) {
    return "checkpoint " + context.checkpointId() + " of " + context.table().name() + " with facts "
        + context.accumulators();
  }
}
