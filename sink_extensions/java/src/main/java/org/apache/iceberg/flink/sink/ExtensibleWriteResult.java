package org.apache.iceberg.flink.sink;

import java.io.DataInputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.iceberg.io.WriteResult;

/**
 * What a writer subtask hands on at a checkpoint.
 *
 * @param files the standard writer's files
 * @param snapshots accumulator states by name; those that saw nothing are left out
 * @param sourceWatermarkMs the last Flink watermark that the writer received, or {@link #NO_WATERMARK}
 */
record ExtensibleWriteResult(WriteResult files, Map<String, byte[]> snapshots, long sourceWatermarkMs) {

  static final long NO_WATERMARK = Long.MIN_VALUE;

  /** The standard serializer's bytes with ours behind them; see {@link Trailer}. */
  static final class Serializer implements SimpleVersionedSerializer<ExtensibleWriteResult> {

    private final WriteResultSerializer standard = new WriteResultSerializer();

    @Override
    public int getVersion() {
      return standard.getVersion();
    }

    @Override
    public byte[] serialize(ExtensibleWriteResult result) throws IOException {
      return Trailer.append(
          standard.serialize(result.files),
          out -> {
            out.writeLong(result.sourceWatermarkMs);
            out.writeInt(result.snapshots.size());
            for (Map.Entry<String, byte[]> entry : result.snapshots.entrySet()) {
              out.writeUTF(entry.getKey());
              out.writeInt(entry.getValue().length);
              out.write(entry.getValue());
            }
          });
    }

    @Override
    public ExtensibleWriteResult deserialize(int version, byte[] bytes) throws IOException {
      WriteResult files = standard.deserialize(version, bytes);
      DataInputStream in = Trailer.find(bytes);
      if (in == null) {
        return new ExtensibleWriteResult(files, Map.of(), NO_WATERMARK);
      }
      long sourceWatermarkMs = in.readLong();
      Map<String, byte[]> snapshots = new LinkedHashMap<>();
      for (int left = in.readInt(); left > 0; left--) {
        String name = in.readUTF();
        byte[] snapshot = new byte[in.readInt()];
        in.readFully(snapshot);
        snapshots.put(name, snapshot);
      }
      return new ExtensibleWriteResult(files, snapshots, sourceWatermarkMs);
    }
  }
}
