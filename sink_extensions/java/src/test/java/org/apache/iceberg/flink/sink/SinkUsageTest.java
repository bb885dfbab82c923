package org.apache.iceberg.flink.sink;

import static org.apache.iceberg.flink.sink.SinkTesting.COUNT;
import static org.apache.iceberg.flink.sink.SinkTesting.EVENT_TIME;
import static org.apache.iceberg.flink.sink.SinkTesting.SCHEMA;
import static org.apache.iceberg.flink.sink.SinkTesting.WATERMARK;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.icebergfinalization.api.CommitContext;
import io.github.icebergfinalization.api.CommitProcessor;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.RowKind;
import org.apache.iceberg.DistributionMode;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.flink.FlinkWriteOptions;
import org.apache.iceberg.flink.TableLoader;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each way the standard sink is used, with extensions on: the rows are there, and so are their facts and the calls. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class SinkUsageTest {

  @RegisterExtension static final MiniClusterExtension CLUSTER = SinkTesting.cluster();

  private static final int ROWS = 240;
  private static final int PER_CHECKPOINT = 60;
  private static final int KEYS = 48;
  private static final PartitionSpec WHOLE = PartitionSpec.unpartitioned();
  private static final PartitionSpec BY_HOUR = PartitionSpec.builderFor(SCHEMA).hour("ts").build();
  private static final PartitionSpec BY_KEY = PartitionSpec.builderFor(SCHEMA).bucket("id", 3).build();

  @TempDir Path warehouse;

  /** A table of a format and spec, and what is chosen at the builder. */
  record Usage(String name, int format, PartitionSpec spec, UnaryOperator<IcebergSink.Builder> choices) {

    @Override
    public String toString() {
      return name + ", format v" + format;
    }
  }

  @BeforeEach
  void setUp() {
    RecordingProcessor.clear();
    FaultyCatalog.clear();
  }

  static Stream<Usage> appends() {
    return Stream.of(
        new Usage("plain", 1, WHOLE, sink -> sink),
        new Usage("plain", 2, WHOLE, sink -> sink),
        new Usage("plain", 3, WHOLE, sink -> sink),
        new Usage("partitioned", 2, BY_HOUR, sink -> sink),
        new Usage("hash", 1, BY_HOUR, sink -> sink.distributionMode(DistributionMode.HASH)),
        new Usage("hash", 3, BY_HOUR, sink -> sink.distributionMode(DistributionMode.HASH)),
        new Usage("range", 2, BY_HOUR, sink -> sink.distributionMode(DistributionMode.RANGE)),
        new Usage("more writers than readers", 2, WHOLE, sink -> sink.writeParallelism(3).uidSuffix("three")),
        new Usage("avro", 2, BY_HOUR, sink -> sink.set(FlinkWriteOptions.WRITE_FORMAT.key(), "avro")));
  }

  @ParameterizedTest
  @MethodSource("appends")
  void appendedRowsAreThereWithTheirFacts(Usage usage) throws Exception {
    Table table = create(usage);
    append(table, "main", usage.choices);
  }

  @Test
  void rangeDistributionByASortOrder() throws Exception {
    Table table = create(new Usage("sorted", 2, WHOLE, sink -> sink));
    table.replaceSortOrder().asc("ts").commit();
    append(table, "main", sink -> sink.distributionMode(DistributionMode.RANGE));
  }

  @Test
  void aBranchGetsTheRowsAndTheMainOneNothing() throws Exception {
    Table table = create(new Usage("branched", 2, WHOLE, sink -> sink));
    append(table, "audit", sink -> sink.toBranch("audit"));
    assertThat(table.currentSnapshot()).isNull();
  }

  @Test
  void writersThatLoadTheTableAnew() throws Exception {
    Table table = create(new Usage("refreshed", 2, WHOLE, sink -> sink));
    FaultyCatalog.LOADS.set(0);
    append(table, "main", sink -> sink.set(FlinkWriteOptions.TABLE_REFRESH_INTERVAL.key(), "1 ms"));
    // Builder, aggregator and committer load it four times in all; each of two writers before each of four checkpoints.
    assertThat(FaultyCatalog.LOADS.get()).isGreaterThan(10);
  }

  private void append(Table table, String branch, UnaryOperator<IcebergSink.Builder> choices) throws Exception {
    StreamExecutionEnvironment environment = environment(2);
    SinkTesting.sink(SinkTesting.rows(environment, ROWS, PER_CHECKPOINT, SinkTesting::row), loader(table), EVENT_TIME, choices);
    environment.execute();
    List<Snapshot> snapshots = SinkTesting.snapshots(table, branch);
    assertThat(SinkTesting.ids(table, branch)).isEqualTo(SinkTesting.once(ROWS));
    assertThat(snapshots).hasSizeGreaterThanOrEqualTo(ROWS / PER_CHECKPOINT);
    assertThat(snapshots)
        .allSatisfy(
            snapshot ->
                assertThat(snapshot.summary().get(COUNT)).isEqualTo(snapshot.summary().getOrDefault("added-records", "0")));
    SinkTesting.assertFactsAndCalls(table, branch, ROWS);
    assertThat(table.properties()).containsKey(branch.equals("main") ? WATERMARK : WATERMARK + "@" + branch);
  }

  @Test
  void inputThatEndsWithoutAnyCheckpointIsCommittedOnce() throws Exception {
    Table table = create(new Usage("bounded", 2, BY_HOUR, sink -> sink));
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(SinkTesting.configuration(2, "1 h"));
    SinkTesting.sink(SinkTesting.rows(environment, ROWS, 0, SinkTesting::row), loader(table), EVENT_TIME, sink -> sink);
    environment.execute();
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(ROWS));
    SinkTesting.assertFactsAndCalls(table, "main", ROWS);
  }

  static Stream<Usage> upserts() {
    return Stream.of(
        new Usage("upsert", 2, WHOLE, sink -> sink.upsert(true)),
        new Usage("upsert", 3, WHOLE, sink -> sink.upsert(true)),
        new Usage("partitioned upsert", 2, BY_KEY, sink -> sink.upsert(true)),
        new Usage("partitioned upsert by hash", 3, BY_KEY, sink -> sink.upsert(true).distributionMode(DistributionMode.HASH)),
        new Usage("changelog", 2, WHOLE, sink -> sink),
        new Usage("changelog", 3, BY_KEY, sink -> sink));
  }

  /** Each key comes five times; in a changelog what follows the insert are pairs of the row before and after. */
  @ParameterizedTest
  @MethodSource("upserts")
  void changedRowsReplaceEachOtherAndEachIsCounted(Usage usage) throws Exception {
    Table table = create(usage);
    StreamExecutionEnvironment environment = environment(2);
    boolean changelog = usage.name.equals("changelog");
    SinkTesting.sink(
        // One reader: versions of a key must stay in order.
        SinkTesting.rows(environment, ROWS, PER_CHECKPOINT, changelog ? SinkUsageTest::change : SinkUsageTest::version)
            .setParallelism(1),
        loader(table),
        EVENT_TIME,
        sink -> usage.choices.apply(sink).equalityFieldColumns(List.of("id")).writeParallelism(2));
    environment.execute();
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(KEYS));
    assertThat(SinkTesting.times(table))
        .isEqualTo(LongStream.range(ROWS - KEYS, ROWS).mapToObj(SinkUsageTest::timeOf).collect(Collectors.toSet()));
    SinkTesting.assertFactsAndCalls(table, "main", ROWS);
    assertThat(table.currentSnapshot().summary().get("total-equality-deletes")).isNotEqualTo("0");
  }

  private static RowData version(long index) {
    RowData row = SinkTesting.row(index);
    return SinkTesting.row(index % KEYS, row.getTimestamp(1, 6));
  }

  /** Rounds over all keys: inserts, then by turns the row as it was and the row as it is. */
  private static RowData change(long index) {
    long round = index / KEYS;
    boolean isBefore = round % 2 == 1;
    RowData row = version(isBefore ? index - KEYS : index);
    row.setRowKind(round == 0 ? RowKind.INSERT : isBefore ? RowKind.UPDATE_BEFORE : RowKind.UPDATE_AFTER);
    return row;
  }

  private static Object timeOf(long index) {
    return SinkTesting.row(index).getTimestamp(1, 6).toLocalDateTime();
  }

  @Test
  void aBatchJobOverwritesThePartitionsThatItWrites() throws Exception {
    Table table = create(new Usage("overwritten", 2, BY_HOUR, sink -> sink));
    batch(table, 0, 120, sink -> sink);
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(120));
    batch(table, 60, 90, sink -> sink.overwrite(true));
    assertThat(SinkTesting.ids(table, "main")).isEqualTo(SinkTesting.once(90));
    List<Snapshot> snapshots = SinkTesting.snapshots(table);
    assertThat(snapshots).extracting(Snapshot::operation).containsExactly("append", "overwrite");
    assertThat(snapshots).extracting(snapshot -> snapshot.summary().get(COUNT)).containsExactly("120", "30");
    SinkTesting.assertFactsAndCalls(table, "main", 150);
  }

  private void batch(Table table, long from, long to, UnaryOperator<IcebergSink.Builder> choices) throws Exception {
    StreamExecutionEnvironment environment = environment(2);
    environment.setRuntimeMode(RuntimeExecutionMode.BATCH);
    SinkTesting.sink(
        SinkTesting.rows(environment, to - from, 0, index -> SinkTesting.row(from + index)), loader(table), EVENT_TIME, choices);
    environment.execute();
  }

  @Test
  void severalSinksInOneJobHaveExtensionsOfTheirOwn() throws Exception {
    Table finalized = create(new Usage("finalized", 2, BY_HOUR, sink -> sink));
    Table measured = create(new Usage("measured", 3, WHOLE, sink -> sink));
    Table standard = create(new Usage("standard", 2, WHOLE, sink -> sink));
    StreamExecutionEnvironment environment = environment(2);
    var rows = SinkTesting.rows(environment, ROWS, PER_CHECKPOINT, SinkTesting::row);
    SinkTesting.sink(rows, loader(finalized), EVENT_TIME, sink -> sink);
    SinkTesting.sink(
        rows,
        loader(measured),
        Map.of(
            "sink.accumulators", "field-stats",
            "sink.field-stats.columns", "id",
            "sink.commit-processors", FirstOnly.class.getName()),
        sink -> sink);
    SinkTesting.sink(rows, loader(standard), Map.of(), sink -> sink);
    environment.execute();
    for (Table table : List.of(finalized, measured, standard)) {
      assertThat(SinkTesting.ids(table, "main")).as(table.name()).isEqualTo(SinkTesting.once(ROWS));
    }
    SinkTesting.assertFactsAndCalls(finalized, "main", ROWS);
    assertThat(RecordingProcessor.CALLS).allMatch(call -> call.table().equals(finalized.name()));
    assertThat(SinkTesting.snapshots(measured))
        .allSatisfy(
            snapshot ->
                assertThat(snapshot.summary())
                    .doesNotContainKeys(COUNT, "test.checkpoint")
                    .containsEntry("accumulator.field-stats.id.count", snapshot.summary().getOrDefault("added-records", "0")));
    assertThat(SinkTesting.snapshots(standard))
        .allSatisfy(snapshot -> assertThat(snapshot.summary().keySet()).noneMatch(key -> key.startsWith("accumulator.")));
    assertThat(measured.properties()).doesNotContainKey(WATERMARK);
  }

  @Test
  void propertiesOfTheUserAreInEverySnapshotAndThoseOfAProcessorInItsOwnOnly() throws Exception {
    Table table = create(new Usage("stamped", 2, WHOLE, sink -> sink));
    StreamExecutionEnvironment environment = environment(2);
    SinkTesting.sink(
        SinkTesting.rows(environment, ROWS, PER_CHECKPOINT, SinkTesting::row),
        loader(table),
        Map.of("sink.commit-processors", FirstOnly.class.getName()),
        sink -> sink.setSnapshotProperty("user.team", "flights").snapshotProperties(Map.of("user.run", "7")));
    environment.execute();
    List<Snapshot> snapshots = SinkTesting.snapshots(table);
    assertThat(snapshots)
        .hasSizeGreaterThan(2)
        .allSatisfy(
            snapshot -> assertThat(snapshot.summary()).containsEntry("user.team", "flights").containsEntry("user.run", "7"));
    assertThat(snapshots.get(0).summary()).containsKey("first.checkpoint");
    assertThat(snapshots.subList(1, snapshots.size()))
        .allSatisfy(snapshot -> assertThat(snapshot.summary()).doesNotContainKey("first.checkpoint"));
  }

  /** Marks the table's first snapshot, and no other. */
  public static class FirstOnly implements CommitProcessor {

    @Override
    public String name() {
      return "first-only";
    }

    @Override
    public void preCommit(CommitContext context) {
      if (context.lineage(1).isEmpty()) {
        context.setSnapshotProperty("first.checkpoint", Long.toString(context.checkpointId()));
      }
    }
  }

  private static StreamExecutionEnvironment environment(int parallelism) {
    return StreamExecutionEnvironment.getExecutionEnvironment(SinkTesting.configuration(parallelism, "100 ms"));
  }

  private Table create(Usage usage) {
    return SinkTesting.create(
        warehouse, usage.name.replace(' ', '_'), usage.spec, Map.of("format-version", Integer.toString(usage.format)));
  }

  private TableLoader loader(Table table) {
    return SinkTesting.loader(warehouse, table);
  }
}
