package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import org.apache.iceberg.io.WriteResult;
import org.junit.jupiter.api.Test;

/** The state of the standard sink is read by ours, and ours by the standard one. */
class StateCompatibilityTest {

  private static final IcebergCommittable STANDARD = new IcebergCommittable(new byte[] {1, 2, 3}, "job", "operator", 7L);
  private static final ExtensibleCommittable EXTENDED =
      new ExtensibleCommittable(STANDARD, Map.of("event-time", Map.of("count", "3", "min-ms", "5")));

  private final ExtensibleCommittable.Serializer ours = new ExtensibleCommittable.Serializer();
  private final IcebergCommittableSerializer theirs = new IcebergCommittableSerializer();

  @Test
  void ourCommittableComesBackWithItsFacts() throws IOException {
    assertThat(ours.deserialize(ours.getVersion(), ours.serialize(EXTENDED))).isEqualTo(EXTENDED);
  }

  @Test
  void aStandardCommittableIsReadWithoutFacts() throws IOException {
    IcebergCommittable read = ours.deserialize(theirs.getVersion(), theirs.serialize(STANDARD));
    assertThat(read).isEqualTo(STANDARD);
    assertThat(ExtensibleCommittable.accumulatorsOf(read)).isEmpty();
    assertThat(ours.serialize(read)).isEqualTo(theirs.serialize(STANDARD));
  }

  @Test
  void theStandardSinkReadsOurCommittable() throws IOException {
    assertThat(ours.getVersion()).isEqualTo(theirs.getVersion());
    assertThat(theirs.deserialize(ours.getVersion(), ours.serialize(EXTENDED))).isEqualTo(STANDARD);
  }

  @Test
  void writeResultsAreReadBothWays() throws IOException {
    ExtensibleWriteResult.Serializer extended = new ExtensibleWriteResult.Serializer();
    WriteResultSerializer standard = new WriteResultSerializer();
    WriteResult files = WriteResult.builder().build();
    byte[] bytes = extended.serialize(new ExtensibleWriteResult(files, Map.of("a", new byte[] {9}), 42));
    ExtensibleWriteResult read = extended.deserialize(extended.getVersion(), bytes);
    assertThat(read.snapshots().get("a")).containsExactly(9);
    assertThat(read.sourceWatermarkMs()).isEqualTo(42);
    assertThat(standard.deserialize(extended.getVersion(), bytes).dataFiles()).isEmpty();
    assertThat(extended.deserialize(1, standard.serialize(files)).snapshots()).isEmpty();
  }
}
