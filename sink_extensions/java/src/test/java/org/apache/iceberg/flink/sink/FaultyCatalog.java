package org.apache.iceberg.flink.sink;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.BaseMetastoreCatalog;
import org.apache.iceberg.BaseMetastoreTableOperations;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.FileIO;

/** A catalog in this JVM's memory, whose commits fail on demand at the places where those of real catalogs do. */
public class FaultyCatalog extends BaseMetastoreCatalog {

  /** What becomes of one commit. */
  enum Fault {
    /** Nothing arrived, and nobody can tell. */
    REQUEST_LOST,
    /** The change is made, the answer is lost, and nobody can tell. */
    ANSWER_LOST,
    /** The change is made, the answer is lost, and Iceberg's own look at the table finds the change. */
    ANSWER_FOUND
  }

  /** The faults of the next commits of data, and of those that change anything else. */
  static final Queue<Fault> DATA_FAULTS = new ConcurrentLinkedQueue<>();

  static final Queue<Fault> OTHER_FAULTS = new ConcurrentLinkedQueue<>();
  static final AtomicInteger LOADS = new AtomicInteger();
  private static final ConcurrentMap<TableIdentifier, String> TABLES = new ConcurrentHashMap<>();

  private String name;
  private String warehouse;

  static void clear() {
    DATA_FAULTS.clear();
    OTHER_FAULTS.clear();
    TABLES.clear();
    LOADS.set(0);
  }

  @Override
  public void initialize(String catalogName, Map<String, String> properties) {
    name = catalogName;
    warehouse = properties.get(CatalogProperties.WAREHOUSE_LOCATION);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  protected TableOperations newTableOps(TableIdentifier identifier) {
    LOADS.incrementAndGet();
    return new Operations(identifier);
  }

  @Override
  protected String defaultWarehouseLocation(TableIdentifier identifier) {
    return warehouse + "/" + identifier.name();
  }

  @Override
  public List<TableIdentifier> listTables(Namespace namespace) {
    return List.copyOf(TABLES.keySet());
  }

  @Override
  public boolean dropTable(TableIdentifier identifier, boolean purge) {
    return TABLES.remove(identifier) != null;
  }

  @Override
  public void renameTable(TableIdentifier from, TableIdentifier to) {
    throw new UnsupportedOperationException("tables keep their names here");
  }

  private static final class Operations extends BaseMetastoreTableOperations {

    private final TableIdentifier identifier;
    private final FileIO io = new HadoopFileIO(new Configuration());

    Operations(TableIdentifier identifier) {
      this.identifier = identifier;
    }

    @Override
    protected String tableName() {
      return identifier.toString();
    }

    @Override
    public FileIO io() {
      return io;
    }

    @Override
    protected void doRefresh() {
      String location = TABLES.get(identifier);
      if (location == null) {
        disableRefresh();
      } else {
        refreshFromMetadataLocation(location);
      }
    }

    @Override
    protected void doCommit(TableMetadata base, TableMetadata metadata) {
      boolean addsData = base != null && metadata.snapshots().size() > base.snapshots().size();
      Fault fault = base == null ? null : (addsData ? DATA_FAULTS : OTHER_FAULTS).poll();
      if (fault == Fault.REQUEST_LOST) {
        throw new CommitStateUnknownException(new IOException("the request was lost"));
      }
      String location = writeNewMetadataIfRequired(base == null, metadata);
      boolean swapped =
          base == null
              ? TABLES.putIfAbsent(identifier, location) == null
              : TABLES.replace(identifier, base.metadataFileLocation(), location);
      if (!swapped) {
        throw new CommitFailedException("%s was changed by someone else", identifier);
      }
      if (fault == Fault.ANSWER_LOST
          || fault == Fault.ANSWER_FOUND && checkCommitStatus(location, metadata) != CommitStatus.SUCCESS) {
        throw new CommitStateUnknownException(new IOException("the answer was lost"));
      }
    }
  }
}
