package org.apache.iceberg.flink.sink;

import java.lang.reflect.Field;
import java.util.Map;
import org.apache.flink.table.types.logical.RowType;
import org.apache.iceberg.Table;
import org.apache.iceberg.flink.TableLoader;

/**
 * What a built {@link IcebergSink} was decided to do, and the table of its committer. These fields are read here, in one
 * place, so that no option of the builder is interpreted a second time; another Iceberg version that names them otherwise
 * fails when the job is built, or when its committer starts.
 */
final class IcebergSinkParts {

  private IcebergSinkParts() {}

  static TableLoader tableLoader(IcebergSink sink) {
    return read(sink, "tableLoader", TableLoader.class);
  }

  static Table table(IcebergSink sink) {
    return read(sink, "table", Table.class);
  }

  static String branch(IcebergSink sink) {
    return read(sink, "branch", String.class);
  }

  static RowType rowType(IcebergSink sink) {
    return read(sink, "flinkRowType", RowType.class);
  }

  static String uidSuffix(IcebergSink sink) {
    return read(sink, "uidSuffix", String.class);
  }

  /** The map that the sink hands to its committer, which reads it anew at each commit. */
  @SuppressWarnings("unchecked")
  static Map<String, String> snapshotProperties(IcebergSink sink) {
    return (Map<String, String>) read(sink, "snapshotProperties", Map.class);
  }

  /** The table that a committer commits to. */
  static Table table(IcebergCommitter committer) {
    return read(committer, "table", Table.class);
  }

  private static <T> T read(Object part, String name, Class<T> type) {
    try {
      Field field = part.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return type.cast(field.get(part));
    } catch (ReflectiveOperationException | ClassCastException e) {
      throw new IllegalStateException(
          "this Iceberg version's " + part.getClass().getSimpleName() + " has no field '" + name + "' of "
              + type.getSimpleName() + "; use the Iceberg version that this jar was built for", e);
    }
  }
}
