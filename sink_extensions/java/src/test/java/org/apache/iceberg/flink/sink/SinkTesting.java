package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.flink.CatalogLoader;
import org.apache.iceberg.flink.FlinkSchemaUtil;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.flink.util.FlinkCompatibilityUtil;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/** What the sink's tests share: settings, streams, tables, and what commits left in a table. */
final class SinkTesting {

  static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "ts", Types.TimestampType.withoutZone()));
  static final RowType ROW_TYPE = FlinkSchemaUtil.convert(SCHEMA);
  static final long START_MS = 1_357_034_400_000L; // 2013-01-01T10:00:00Z
  static final long STEP_MS = 60_000;
  static final String COUNT = "accumulator.event-time.count";
  static final String WATERMARK = "finalization.watermark";

  /** Finalization, with its processor in Python, and a processor that lets tests look on. */
  static final Map<String, String> EVENT_TIME =
      Map.of(
          "finalization.event-time-column", "ts",
          "sink.accumulators", "event-time",
          "sink.commit-processors", RecordingProcessor.class.getName());

  private SinkTesting() {}

  static MiniClusterExtension cluster() {
    return new MiniClusterExtension(
        new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());
  }

  static Configuration configuration(int parallelism, String checkpointInterval) {
    Configuration config = new Configuration();
    config.setString("parallelism.default", Integer.toString(parallelism));
    config.setString("execution.checkpointing.interval", checkpointInterval);
    config.setString("restart-strategy.type", "fixed-delay");
    config.setString("restart-strategy.fixed-delay.attempts", "10");
    config.setString("restart-strategy.fixed-delay.delay", "100 ms");
    config.setString("table.exec.iceberg.use-v2-sink", "true");
    config.setString("rest.bind-address", "127.0.0.1");
    config.setString("sink.python.executable", System.getProperty("python"));
    return config;
  }

  /** A session for SQL with the view {@code numbers}: 20,000 rows {@code (id, ts)} at the given pace. */
  static TableEnvironment sql(Configuration config, int rowsPerSecond) {
    TableEnvironment environment =
        TableEnvironment.create(EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(config).build());
    environment.executeSql(
        "CREATE TEMPORARY TABLE numbers (id BIGINT, ts AS CAST(TO_TIMESTAMP_LTZ(1357034400000 + 360 * id, 3) AS TIMESTAMP(6)))"
            + " WITH ('connector'='datagen','fields.id.kind'='sequence','fields.id.start'='0','fields.id.end'='19999',"
            + "'rows-per-second'='" + rowsPerSecond + "')");
    return environment;
  }

  static void createCatalog(TableEnvironment environment, String name, String type, Path warehouse) {
    environment.executeSql(
        "CREATE CATALOG `" + name + "` WITH ('type'='" + type + "','catalog-type'='hadoop','warehouse'='"
            + warehouse.toUri() + "')");
  }

  /** A table that was made through such a catalog. */
  static Table load(Path warehouse, String table) {
    return new HadoopTables(new org.apache.hadoop.conf.Configuration()).load(warehouse.toUri() + "/db/" + table);
  }

  /** A loader for a table that {@link #create} made. */
  static TableLoader loader(Path warehouse, Table table) {
    String name = table.name().substring(table.name().lastIndexOf('.') + 1);
    return TableLoader.fromCatalog(catalog(warehouse), TableIdentifier.of("db", name));
  }

  static Table load(TableLoader loader) {
    loader.open();
    return loader.loadTable();
  }

  private static CatalogLoader catalog(Path warehouse) {
    return CatalogLoader.custom(
        "faulty",
        Map.of("warehouse", warehouse.toUri().toString()),
        new org.apache.hadoop.conf.Configuration(),
        FaultyCatalog.class.getName());
  }

  /** A new table in a {@link FaultyCatalog}. */
  static Table create(Path warehouse, String name, PartitionSpec spec, Map<String, String> properties) {
    Map<String, String> all = new LinkedHashMap<>(properties);
    // Where the job asks for finalization, the first commit with rows gives a watermark; a lost answer is looked for at once.
    all.put("finalization.event-time-column", "ts");
    all.put("finalization.lookback-commits", "1");
    all.put("commit.status-check.min-wait-ms", "1");
    return catalog(warehouse).loadCatalog().createTable(TableIdentifier.of("db", name), SCHEMA, spec, all);
  }

  static RowData row(long index) {
    return row(index, TimestampData.fromEpochMillis(START_MS + index * STEP_MS));
  }

  static RowData row(long id, TimestampData time) {
    return GenericRowData.of(id, time);
  }

  /** A stream of {@code count} rows, of which so many come between two checkpoints; all at once for 0. */
  static SingleOutputStreamOperator<RowData> rows(
      StreamExecutionEnvironment environment, long count, int perCheckpoint, GeneratorFunction<Long, RowData> row) {
    RateLimiterStrategy pace =
        perCheckpoint == 0 ? RateLimiterStrategy.noOp() : RateLimiterStrategy.perCheckpoint(perCheckpoint);
    DataGeneratorSource<RowData> source =
        new DataGeneratorSource<>(row, count, pace, FlinkCompatibilityUtil.toTypeInfo(ROW_TYPE));
    return environment.fromSource(source, WatermarkStrategy.noWatermarks(), "rows").uid("rows");
  }

  /** Appends the standard sink with the given extensions; without any it is the standard one. */
  static DataStreamSink<RowData> sink(
      DataStream<RowData> rows,
      TableLoader loader,
      Map<String, String> extensions,
      UnaryOperator<IcebergSink.Builder> choices) {
    DataStream<RowData> extended =
        ExtensibleSink.on(rows, extensions, rows.getExecutionEnvironment().getConfiguration());
    return choices.apply(IcebergSink.forRowData(extended).tableLoader(loader)).append();
  }

  /** The snapshots of a branch, oldest first. */
  static List<Snapshot> snapshots(Table table, String branch) {
    table.refresh();
    List<Snapshot> snapshots = new ArrayList<>();
    Snapshot snapshot = table.snapshot(branch);
    while (snapshot != null) {
      snapshots.add(0, snapshot);
      snapshot = snapshot.parentId() == null ? null : table.snapshot(snapshot.parentId());
    }
    return snapshots;
  }

  static List<Snapshot> snapshots(Table table) {
    return snapshots(table, "main");
  }

  /** The rows of a branch's newest snapshot: how often each id is there, in the order of ids. */
  static Map<Long, Integer> ids(Table table, String branch) {
    Map<Long, Integer> ids = new TreeMap<>();
    read(table, branch, record -> ids.merge((Long) record.getField("id"), 1, Integer::sum));
    return ids;
  }

  /** What {@link #ids} gives where each of so many rows is there once. */
  static Map<Long, Integer> once(long rows) {
    Map<Long, Integer> ids = new TreeMap<>();
    LongStream.range(0, rows).forEach(id -> ids.put(id, 1));
    return ids;
  }

  /** The times of all rows. */
  static Set<Object> times(Table table) {
    Set<Object> times = new HashSet<>();
    read(table, "main", record -> times.add(record.getField("ts")));
    return times;
  }

  private static void read(Table table, String branch, Consumer<Record> reader) {
    table.refresh();
    long snapshotId = table.snapshot(branch).snapshotId();
    try (CloseableIterable<Record> records = IcebergGenerics.read(table).useSnapshot(snapshotId).build()) {
      records.forEach(reader);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The sum of the event-time counts of all snapshots; each must carry one. */
  static long counted(List<Snapshot> snapshots) {
    return snapshots.stream()
        .peek(snapshot -> assertThat(snapshot.summary()).containsKey(COUNT))
        .mapToLong(snapshot -> Long.parseLong(snapshot.summary().get(COUNT)))
        .sum();
  }

  /**
   * Asserts that the event times of so many rows were counted, that every snapshot holds the facts which the processors
   * saw before its commit, and that they were called after it.
   */
  static void assertFactsAndCalls(Table table, String branch, long rows) {
    List<Snapshot> snapshots = snapshots(table, branch);
    assertThat(counted(snapshots)).isEqualTo(rows);
    for (Snapshot snapshot : snapshots) {
      Map<String, String> summary = snapshot.summary();
      assertThat(summary.get("test.checkpoint")).isEqualTo(summary.get(SinkUtil.MAX_COMMITTED_CHECKPOINT_ID));
      assertThat(RecordingProcessor.postCommits())
          .as("a call after the commit of %s", summary)
          .anyMatch(call -> call.snapshotId().equals(OptionalLong.of(snapshot.snapshotId())));
      assertThat(RecordingProcessor.preCommits())
          .as("a call before the commit of %s", summary)
          .anyMatch(call -> call.table().equals(table.name()) && summary.entrySet().containsAll(entries(call).entrySet()));
    }
  }

  private static Map<String, String> entries(RecordingProcessor.Call call) {
    Map<String, String> entries = new HashMap<>();
    entries.put("test.checkpoint", Long.toString(call.checkpointId()));
    call.facts()
        .forEach((name, facts) -> facts.forEach((key, value) -> entries.put("accumulator." + name + "." + key, value)));
    return entries;
  }

  static long totalRecords(Table table) {
    table.refresh();
    return Long.parseLong(table.currentSnapshot().summary().get("total-records"));
  }

  static void await(BooleanSupplier condition, String what) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("waited two minutes for: %s", what).isLessThan(deadline);
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }
}
