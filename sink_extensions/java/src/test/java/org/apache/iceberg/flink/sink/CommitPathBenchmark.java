package org.apache.iceberg.flink.sink;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.flink.CatalogLoader;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.jdbc.JdbcCatalog;

/**
 * Milliseconds of one commit, of a table with a history in a SQL catalog: the standard committer, and ours with
 * finalization's Python processor, whose watermark holds or advances at every commit.
 *
 * <p>Prints a table in Markdown. System property {@code python}: the interpreter of the processor.
 */
final class CommitPathBenchmark {

  private static final Namespace NAMESPACE = Namespace.of("db");
  private static final String JOB = "job";
  private static final int WARM_UP = 15;
  private static final int COMMITS = 40;
  private static final int ROWS_AN_HOUR = 60;

  /** Variants, and the first row of a commit: rows are a minute apart, a watermark advances with the hours. */
  private enum Variant {
    STANDARD("standard", commit -> commit * ROWS_AN_HOUR),
    HOLDS("ours, the watermark holds", commit -> 0),
    ADVANCES("ours, the watermark advances", commit -> commit * ROWS_AN_HOUR);

    private final String label;
    private final LongUnaryOperator firstRow;

    Variant(String label, LongUnaryOperator firstRow) {
      this.label = label;
      this.firstRow = firstRow;
    }

    private Map<String, String> options() {
      return this == STANDARD
          ? Map.of()
          : Map.of("finalization.event-time-column", "ts", "sink.python.executable", System.getProperty("python"));
    }
  }

  private final CatalogLoader loader;
  private final Catalog catalog;

  private CommitPathBenchmark(Path folder) {
    loader =
        CatalogLoader.custom(
            "bench",
            Map.of(
                "uri", "jdbc:sqlite:" + folder.resolve("catalog.db") + "?busy_timeout=30000&journal_mode=WAL",
                "jdbc.schema-version", "V1",
                "warehouse", folder.resolve("warehouse").toUri().toString()),
            new org.apache.hadoop.conf.Configuration(),
            JdbcCatalog.class.getName());
    catalog = loader.loadCatalog();
    ((SupportsNamespaces) catalog).createNamespace(NAMESPACE);
  }

  /** @param arguments a folder to work in, and numbers of snapshots in ascending order */
  public static void main(String[] arguments) throws Exception {
    CommitPathBenchmark benchmark =
        new CommitPathBenchmark(Files.createTempDirectory(Path.of(arguments[0]), "commits"));
    Table history =
        benchmark.catalog.createTable(
            TableIdentifier.of(NAMESPACE, "history"),
            SinkTesting.SCHEMA,
            PartitionSpec.unpartitioned(),
            Map.of("finalization.event-time-column", "ts"));
    System.out.println("| snapshots | variant | median ms | p90 ms | more than standard |\n|--:|---|--:|--:|--:|");
    Map<String, String> facts = facts();
    int made = 0;
    for (String number : Arrays.copyOfRange(arguments, 1, arguments.length)) {
      for (; made < Integer.parseInt(number); made++) {
        AppendFiles append = history.newAppend();
        facts.forEach(append::set);
        append.commit();
      }
      benchmark.measure(history, made);
    }
  }

  /** Of a commit of an hour's rows, in the size that they have in a real one. */
  private static Map<String, String> facts() throws Exception {
    Map<String, String> facts = new LinkedHashMap<>();
    try (CommitterFixture fixture = new CommitterFixture(null, null, Variant.ADVANCES.options())) {
      fixture
          .facts(0, ROWS_AN_HOUR)
          .forEach((name, entries) ->
              entries.forEach((key, value) -> facts.put("accumulator." + name + "." + key, value)));
    }
    return facts;
  }

  private void measure(Table history, int snapshots) throws Exception {
    String metadata = ((HasTableOperations) history).operations().current().metadataFileLocation();
    List<CommitterFixture> fixtures = new ArrayList<>();
    List<CommitterFixture.Running> committers = new ArrayList<>();
    for (Variant variant : Variant.values()) {
      TableIdentifier name = TableIdentifier.of(NAMESPACE, variant.name().toLowerCase() + snapshots);
      Table table = catalog.registerTable(name, metadata);
      CommitterFixture fixture =
          new CommitterFixture(TableLoader.fromCatalog(loader, name), table, variant.options());
      fixtures.add(fixture);
      committers.add(fixture.start());
    }
    double[][] millis = new double[Variant.values().length][COMMITS];
    for (int commit = 0; commit < WARM_UP + COMMITS; commit++) {
      for (Variant variant : Variant.values()) {
        int index = variant.ordinal();
        long first = variant.firstRow.applyAsLong(commit + 1);
        IcebergCommittable committable =
            fixtures.get(index).committable(JOB, commit + 1, first, first + ROWS_AN_HOUR);
        long started = System.nanoTime();
        committers.get(index).commit(committable);
        if (commit >= WARM_UP) {
          millis[index][commit - WARM_UP] = (System.nanoTime() - started) / 1e6;
        }
      }
    }
    for (CommitterFixture fixture : fixtures) {
      fixture.close();
    }
    Arrays.stream(millis).forEach(Arrays::sort);
    for (Variant variant : Variant.values()) {
      double[] sorted = millis[variant.ordinal()];
      double median = sorted[COMMITS / 2];
      System.out.printf(
          "| %,d | %s | %.1f | %.1f | %.1f |%n",
          snapshots, variant.label, median, sorted[COMMITS * 9 / 10], median - millis[0][COMMITS / 2]);
    }
  }
}
