package org.apache.iceberg.flink.sink;

import static org.apache.iceberg.flink.sink.FaultyCatalog.OTHER_FAULTS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.flink.sink.FaultyCatalog.Fault;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a processor can change through its context, while others change the table too. */
class CommitContextTest {

  @TempDir Path warehouse;
  private Table table;
  private CommitterFixture fixture;

  @BeforeEach
  void setUp() {
    RecordingProcessor.clear();
    FaultyCatalog.clear();
    table = SinkTesting.create(warehouse, "changed", PartitionSpec.unpartitioned(), Map.of("format-version", "2"));
    fixture = new CommitterFixture(SinkTesting.loader(warehouse, table), table);
  }

  @AfterEach
  void tearDown() throws Exception {
    fixture.close();
  }

  @Test
  void aChangeOfPropertiesByAnotherIsSeenAndKept() throws Exception {
    List<Boolean> answers = new ArrayList<>();
    RecordingProcessor.after =
        context -> {
          SinkTesting.load(SinkTesting.loader(warehouse, table)).updateProperties().set("other", "theirs").commit();
          answers.add(context.compareAndSetProperties(Map.of("other", "ours", "mine", "1")));
          assertThat(context.properties()).doesNotContainKey("other");
          context.refresh();
          assertThat(context.properties()).containsEntry("other", "theirs");
          answers.add(context.compareAndSetProperties(Map.of("mine", "2")));
        };
    fixture.start().commit(fixture.committable("job", 1, 0, 10));
    assertThat(answers).containsExactly(false, true);
    table.refresh();
    assertThat(table.properties()).containsEntry("other", "theirs").containsEntry("mine", "2");
  }

  @Test
  void aLostAnswerToAChangeOfPropertiesIsLookedFor() throws Exception {
    List<Boolean> answers = new ArrayList<>();
    RecordingProcessor.after =
        context ->
            Arrays.stream(Fault.values())
                .forEach(
                    fault -> {
                      OTHER_FAULTS.add(fault);
                      answers.add(context.compareAndSetProperties(Map.of("mine", fault.name())));
                      assertThat(context.properties().get("mine")).isEqualTo(fault == Fault.REQUEST_LOST ? null : fault.name());
                    });
    fixture.start().commit(fixture.committable("job", 1, 0, 10));
    assertThat(answers).containsExactly(false, true, true);
  }

  @Test
  void aSnapshotThatIsWrittenTakesNoProperties() throws Exception {
    List<String> refusals = new ArrayList<>();
    RecordingProcessor.after =
        context ->
            assertThatThrownBy(() -> context.setSnapshotProperty("late", "1"))
                .isInstanceOf(IllegalStateException.class)
                .satisfies(refusal -> refusals.add(refusal.getMessage()));
    fixture.start().commit(fixture.committable("job", 1, 0, 10));
    assertThat(refusals).singleElement().asString().contains("'late'", "preCommit only");
  }
}
