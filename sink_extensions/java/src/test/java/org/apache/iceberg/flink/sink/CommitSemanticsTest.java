package org.apache.iceberg.flink.sink;

import static org.apache.iceberg.flink.sink.FaultyCatalog.DATA_FAULTS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.flink.sink.FaultyCatalog.Fault;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the committer leaves in a table when something goes wrong around a commit. */
class CommitSemanticsTest {

  private static final String JOB = "job";

  @TempDir Path warehouse;
  private Table table;
  private CommitterFixture fixture;

  @BeforeEach
  void setUp() {
    RecordingProcessor.clear();
    FaultyCatalog.clear();
    table = SinkTesting.create(warehouse, "committed", PartitionSpec.unpartitioned(), Map.of("format-version", "2"));
    fixture = new CommitterFixture(SinkTesting.loader(warehouse, table), table);
  }

  @AfterEach
  void tearDown() throws Exception {
    fixture.close();
  }

  @Test
  void anAbortedCommitWritesNothingAndIsTriedAgainWithTheSameFacts() throws Exception {
    IcebergCommittable committable = fixture.committable(JOB, 1, 0, 10);
    RecordingProcessor.PRE_COMMIT_FAILURES.set(1);
    assertThatThrownBy(() -> fixture.start().commit(committable)).hasMessageContaining("nothing was written");
    table.refresh();
    assertThat(table.currentSnapshot()).isNull();
    assertThat(table.properties()).doesNotContainKey("test.processed");
    fixture.start().commit(committable);
    assertRows(10);
    assertFacts(1, 0, 10);
    assertThat(RecordingProcessor.preCommits()).hasSize(2);
    assertThat(RecordingProcessor.preCommits().get(0)).isEqualTo(RecordingProcessor.preCommits().get(1));
  }

  @Test
  void aCommitWhoseAnswerIsLostIsFoundAfterTheRestart() throws Exception {
    IcebergCommittable committable = fixture.committable(JOB, 1, 0, 10);
    DATA_FAULTS.add(Fault.ANSWER_LOST);
    assertThatThrownBy(() -> fixture.start().commit(committable)).isInstanceOf(CommitStateUnknownException.class);
    assertThat(RecordingProcessor.postCommits()).isEmpty();
    CommitterFixture.Requests requests = fixture.start().commit(committable);
    assertThat(requests.alreadyCommitted()).containsExactly(1L);
    assertRows(10);
    assertFacts(1, 0, 10);
    assertThat(RecordingProcessor.preCommits()).hasSize(1);
    assertPostCommits(-1, 1);
  }

  @Test
  void aCommitThatDidNotArriveIsMadeAfterTheRestart() throws Exception {
    IcebergCommittable committable = fixture.committable(JOB, 1, 0, 10);
    DATA_FAULTS.add(Fault.REQUEST_LOST);
    assertThatThrownBy(() -> fixture.start().commit(committable)).isInstanceOf(CommitStateUnknownException.class);
    table.refresh();
    assertThat(table.currentSnapshot()).isNull();
    fixture.start().commit(committable);
    assertRows(10);
    assertFacts(1, 0, 10);
    assertPostCommits(1);
  }

  /** The attempt before was given up while its commit was on the way, and it arrives when the next one has begun. */
  @Test
  void aCommitThatArrivesAfterTheRestartIsNotMadeTwice() throws Exception {
    IcebergCommittable committable = fixture.committable(JOB, 1, 0, 10);
    CommitterFixture.Running before = fixture.start();
    CommitterFixture.Running next = fixture.start();
    DATA_FAULTS.add(Fault.ANSWER_LOST);
    assertThatThrownBy(() -> before.commit(committable)).isInstanceOf(CommitStateUnknownException.class);
    assertThat(next.commit(committable).alreadyCommitted()).containsExactly(1L);
    assertRows(10);
    assertThat(RecordingProcessor.preCommits()).hasSize(1);
    assertPostCommits(1);
  }

  @Test
  void aLostAnswerThatIcebergFindsItselfIsACommitAsAnyOther() throws Exception {
    DATA_FAULTS.add(Fault.ANSWER_FOUND);
    fixture.start().commit(fixture.committable(JOB, 1, 0, 10));
    assertThat(DATA_FAULTS).isEmpty();
    assertRows(10);
    assertFacts(1, 0, 10);
    assertPostCommits(1);
  }

  @Test
  void severalPendingCheckpointsBecomeSnapshotsOfTheirOwnInTheirOrder() throws Exception {
    IcebergCommittable ofTheStandardSink = fixture.standard(fixture.committable(JOB, 2, 10, 30));
    fixture.start()
        .commit(fixture.committable(JOB, 3, 30, 60), fixture.committable(JOB, 1, 0, 10), ofTheStandardSink);
    assertRows(60);
    assertFacts(1, 0, 10);
    assertThat(snapshot(2).summary().keySet()).noneMatch(key -> key.startsWith("accumulator."));
    assertFacts(3, 30, 60);
    assertThat(RecordingProcessor.CALLS)
        .extracting(call -> call.step() + " " + call.checkpointId())
        .containsExactly("pre 1", "post 1", "pre 2", "post 2", "pre 3", "post 3");
    assertPostCommits(1, 2, 3);
  }

  @Test
  void pendingCheckpointsThatWereCommittedBeforeAreNotCommittedAgain() throws Exception {
    IcebergCommittable first = fixture.committable(JOB, 1, 0, 10);
    IcebergCommittable empty = fixture.committable(JOB, 2, 10, 10);
    IcebergCommittable second = fixture.committable(JOB, 3, 10, 30);
    fixture.start().commit(first, empty, second);
    RecordingProcessor.clear();
    CommitterFixture.Requests requests =
        fixture.start().commit(first, empty, second, fixture.committable(JOB, 4, 30, 60));
    assertThat(requests.alreadyCommitted()).containsExactly(1L, 2L, 3L);
    assertRows(60);
    assertThat(SinkTesting.snapshots(table)).hasSize(3);
    assertFacts(1, 0, 10);
    assertFacts(3, 10, 30);
    assertFacts(4, 30, 60);
    assertThat(RecordingProcessor.preCommits()).extracting(RecordingProcessor.Call::checkpointId).containsExactly(4L);
    // Each is told the snapshot that it became, also where later ones follow; the empty one became none.
    assertThat(RecordingProcessor.postCommits())
        .extracting(RecordingProcessor.Call::snapshotId)
        .containsExactly(id(3), id(1), OptionalLong.empty(), id(3), id(4));
  }

  @Test
  void aRestoredJobCommitsWhatTheOneBeforeLeftAndItsOwnCheckpointsAnew() throws Exception {
    IcebergCommittable pending = fixture.committable("job before", 5, 0, 10);
    fixture.start().commit(pending, fixture.committable("job before", 6, 10, 20));
    RecordingProcessor.clear();
    // The savepoint is of checkpoint 5: the rows after it are read and written a second time, as by the standard sink.
    CommitterFixture.Requests requests = fixture.start().commit(pending, fixture.committable("job after", 6, 10, 25));
    assertThat(requests.alreadyCommitted()).containsExactly(5L);
    List<Snapshot> snapshots = SinkTesting.snapshots(table);
    assertThat(snapshots).extracting(snapshot -> snapshot.summary().get(fact("count"))).containsExactly("10", "10", "15");
    assertThat(RecordingProcessor.postCommits())
        .extracting(RecordingProcessor.Call::snapshotId)
        .containsExactly(
            OptionalLong.of(snapshots.get(1).snapshotId()),
            OptionalLong.of(snapshots.get(0).snapshotId()),
            OptionalLong.of(snapshots.get(2).snapshotId()));
  }

  @Test
  void aCompactionBetweenTheStepsOfACommitLosesAndRepeatsNothing() throws Exception {
    fixture.start().commit(fixture.committable(JOB, 1, 0, 5), fixture.committable(JOB, 2, 5, 10));
    RecordingProcessor.before = context -> compact(0, 10);
    IcebergCommittable third = fixture.committable(JOB, 3, 10, 20);
    fixture.start().commit(third);
    assertRows(20);
    assertThat(SinkTesting.snapshots(table))
        .extracting(Snapshot::operation)
        .containsExactly(DataOperations.APPEND, DataOperations.APPEND, DataOperations.REPLACE, DataOperations.APPEND);
    assertFacts(3, 10, 20);
    compact(0, 20);
    RecordingProcessor.clear();
    fixture.start().commit(third);
    assertRows(20);
    assertThat(RecordingProcessor.postCommits().get(1).snapshotId()).isEqualTo(id(3));
  }

  private void compact(long from, long to) {
    Table other = SinkTesting.load(SinkTesting.loader(warehouse, table));
    List<DataFile> files = new ArrayList<>();
    other.newScan().planFiles().forEach(task -> files.add(task.file()));
    try {
      DataFile[] whole = fixture.write(from, to).dataFiles();
      other.newRewrite().rewriteFiles(Set.copyOf(files), Set.of(whole)).commit();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void whatFailsAfterTheCommitIsTriedThreeTimesAndThenAfterARestart() throws Exception {
    IcebergCommittable committable = fixture.committable(JOB, 1, 0, 10);
    RecordingProcessor.POST_COMMIT_FAILURES.set(2);
    fixture.start().commit(committable);
    assertPostCommits(1, 1, 1);
    IcebergCommittable next = fixture.committable(JOB, 2, 10, 20);
    CommitterFixture.Running running = fixture.start("sink.commit-processors.on-failure", "fail");
    RecordingProcessor.POST_COMMIT_FAILURES.set(3);
    assertThatThrownBy(() -> running.commit(next)).hasMessageContaining("the data is committed");
    RecordingProcessor.clear();
    assertThat(fixture.start().commit(next).alreadyCommitted()).containsExactly(2L);
    assertRows(20);
    assertPostCommits(-1, 2);
    assertThat(RecordingProcessor.preCommits()).isEmpty();
  }

  @Test
  void whatFailsAfterTheCommitIsLoggedWhereThatIsAskedFor() throws Exception {
    RecordingProcessor.POST_COMMIT_FAILURES.set(3);
    fixture.start("sink.commit-processors.on-failure", "log")
        .commit(fixture.committable(JOB, 1, 0, 10), fixture.committable(JOB, 2, 10, 20));
    assertRows(20);
    assertPostCommits(1, 1, 1, 2);
  }

  private void assertRows(long rows) {
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(rows));
  }

  /** The facts of the checkpoint's snapshot are those of the rows {@code from} to {@code to}. */
  private void assertFacts(long checkpointId, long from, long to) {
    assertThat(snapshot(checkpointId).summary())
        .containsEntry(fact("count"), Long.toString(to - from))
        .containsEntry(fact("min"), Long.toString(from))
        .containsEntry(fact("max"), Long.toString(to - 1))
        .containsEntry("test.checkpoint", Long.toString(checkpointId));
  }

  private static String fact(String key) {
    return "accumulator.field-stats.id." + key;
  }

  /** The calls after commits: their checkpoints, each with a snapshot; -1 is the call at start-up. */
  private void assertPostCommits(long... checkpointIds) {
    List<RecordingProcessor.Call> calls = RecordingProcessor.postCommits();
    assertThat(calls.stream().mapToLong(RecordingProcessor.Call::checkpointId).toArray()).isEqualTo(checkpointIds);
    assertThat(calls)
        .filteredOn(call -> call.checkpointId() > 0)
        .allSatisfy(call -> assertThat(call.snapshotId()).isEqualTo(id(call.checkpointId())));
  }

  private OptionalLong id(long checkpointId) {
    return OptionalLong.of(snapshot(checkpointId).snapshotId());
  }

  private Snapshot snapshot(long checkpointId) {
    return SinkTesting.snapshots(table).stream()
        .filter(snapshot -> Long.toString(checkpointId).equals(snapshot.summary().get(SinkUtil.MAX_COMMITTED_CHECKPOINT_ID)))
        .reduce((one, two) -> { throw new AssertionError("two snapshots of checkpoint " + checkpointId); })
        .orElseThrow();
  }
}
