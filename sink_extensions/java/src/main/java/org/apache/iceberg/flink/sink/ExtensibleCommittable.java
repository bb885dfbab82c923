package org.apache.iceberg.flink.sink;

import java.io.DataInputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A standard committable that carries the merged facts of its checkpoint. */
final class ExtensibleCommittable extends IcebergCommittable {

  private static final long serialVersionUID = 1L;

  /** Merged entries by accumulator name. */
  private final Map<String, Map<String, String>> accumulators;

  ExtensibleCommittable(IcebergCommittable standard, Map<String, Map<String, String>> accumulators) {
    super(standard.manifest(), standard.jobId(), standard.operatorId(), standard.checkpointId());
    this.accumulators = accumulators;
  }

  /** The merged entries of a committable, by accumulator name; none for a standard one. */
  static Map<String, Map<String, String>> accumulatorsOf(IcebergCommittable committable) {
    return committable instanceof ExtensibleCommittable extended ? extended.accumulators : Map.of();
  }

  @Override
  public boolean equals(Object other) {
    return super.equals(other) && accumulators.equals(((ExtensibleCommittable) other).accumulators);
  }

  @Override
  public int hashCode() {
    return Objects.hash(super.hashCode(), accumulators);
  }

  /** The standard serializer's bytes with ours behind them; see {@link Trailer}. */
  static final class Serializer implements SimpleVersionedSerializer<IcebergCommittable> {

    private final IcebergCommittableSerializer standard = new IcebergCommittableSerializer();

    @Override
    public int getVersion() {
      return standard.getVersion();
    }

    @Override
    public byte[] serialize(IcebergCommittable committable) throws IOException {
      byte[] bytes = standard.serialize(committable);
      if (!(committable instanceof ExtensibleCommittable)) {
        return bytes;
      }
      return Trailer.append(
          bytes,
          out -> {
            Map<String, Map<String, String>> accumulators = accumulatorsOf(committable);
            out.writeInt(accumulators.size());
            for (Map.Entry<String, Map<String, String>> accumulator : accumulators.entrySet()) {
              out.writeUTF(accumulator.getKey());
              out.writeInt(accumulator.getValue().size());
              for (Map.Entry<String, String> entry : accumulator.getValue().entrySet()) {
                out.writeUTF(entry.getKey());
                out.writeUTF(entry.getValue());
              }
            }
          });
    }

    @Override
    public IcebergCommittable deserialize(int version, byte[] bytes) throws IOException {
      IcebergCommittable committable = standard.deserialize(version, bytes);
      DataInputStream in = Trailer.find(bytes);
      if (in == null) {
        return committable;
      }
      Map<String, Map<String, String>> accumulators = new LinkedHashMap<>();
      for (int left = in.readInt(); left > 0; left--) {
        Map<String, String> entries = new LinkedHashMap<>();
        accumulators.put(in.readUTF(), entries);
        for (int entriesLeft = in.readInt(); entriesLeft > 0; entriesLeft--) {
          entries.put(in.readUTF(), in.readUTF());
        }
      }
      return new ExtensibleCommittable(committable, accumulators);
    }
  }
}
