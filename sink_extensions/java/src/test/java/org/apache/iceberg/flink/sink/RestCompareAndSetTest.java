package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.UpdateRequirements;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.junit.jupiter.api.Test;

/**
 * Setting properties on a REST catalog, which checks only the requirements that belong to a change.
 *
 * <p>The service is stood in for: requirements and changes are Iceberg's own, but they go through no network.
 */
class RestCompareAndSetTest {

  private final Service service = new Service();

  @Test
  void aStaleDecisionIsRefusedOnceTheBranchHasMoved() {
    append();
    TableCommitContext stale = context();
    append();
    TableCommitContext newer = context();
    assertThat(newer.compareAndSetProperties(Map.of("w", "newer"))).isTrue();

    assertThat(stale.compareAndSetProperties(Map.of("w", "stale"))).isFalse();
    assertThat(service.current.properties()).containsEntry("w", "newer");
    stale.refresh();
    assertThat(stale.compareAndSetProperties(Map.of("w", "decided anew"))).isTrue();
    assertThat(service.current.properties()).containsEntry("w", "decided anew");
  }

  @Test
  void theBranchStaysWhereItIs() {
    append();
    append();
    TableMetadata before = service.current;
    assertThat(context().compareAndSetProperties(Map.of("w", "1"))).isTrue();
    assertThat(service.current.currentSnapshot().snapshotId()).isEqualTo(before.currentSnapshot().snapshotId());
    assertThat(service.current.refs()).isEqualTo(before.refs());
    assertThat(service.current.snapshots()).hasSize(2);
  }

  @Test
  void anEmptyTableTakesPropertiesToo() {
    assertThat(context().compareAndSetProperties(Map.of("w", "1"))).isTrue();
    assertThat(service.current.properties()).containsEntry("w", "1");
  }

  private Table table() {
    return new BaseTable(service.client(), "db.t");
  }

  private TableCommitContext context() {
    return new TableCommitContext(table(), "main", "job", 1, Map.of(), Map.of());
  }

  private void append() {
    table()
        .newAppend()
        .appendFile(
            DataFiles.builder(PartitionSpec.unpartitioned())
                .withPath("memory://t/data.parquet")
                .withFormat("parquet")
                .withFileSizeInBytes(1)
                .withRecordCount(1)
                .build())
        .commit();
  }

  /** The table as a REST catalog keeps it. */
  private static final class Service {

    private final FileIO io = new InMemoryFileIO();
    private TableMetadata current =
        TableMetadata.newTableMetadata(SinkTesting.SCHEMA, PartitionSpec.unpartitioned(), "memory://t", Map.of());

    /** A client's view, which is as old as its last refresh. */
    TableOperations client() {
      return new TableOperations() {
        private TableMetadata seen = current;

        @Override
        public TableMetadata current() {
          return seen;
        }

        @Override
        public TableMetadata refresh() {
          seen = current;
          return seen;
        }

        @Override
        public void commit(TableMetadata base, TableMetadata changed) {
          UpdateRequirements.forUpdateTable(base, changed.changes())
              .forEach(requirement -> requirement.validate(current));
          TableMetadata.Builder applied = TableMetadata.buildFrom(current);
          changed.changes().forEach(change -> change.applyTo(applied));
          // The answer is JSON, which does not tell the changes that led to it.
          current = TableMetadataParser.fromJson(TableMetadataParser.toJson(applied.build()));
          seen = current;
        }

        @Override
        public FileIO io() {
          return io;
        }

        @Override
        public String metadataFileLocation(String name) {
          return "memory://t/metadata/" + name;
        }

        @Override
        public LocationProvider locationProvider() {
          return LocationProviders.locationsFor("memory://t", Map.of());
        }
      };
    }
  }
}
