package io.github.icebergfinalization.eventtime;

import com.tdunning.math.stats.MergingDigest;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/** What one writer subtask knows of the event times since its last checkpoint. */
final class EventTimeState {

  private static final int VERSION = 1;

  final PartitionCounts partitions;
  long nulls;
  private long rejected;
  private long count;
  private long minMs;
  private long maxMs;
  private long baseMs;
  private MergingDigest digest;

  EventTimeState(Granularity granularity) {
    this.partitions = new PartitionCounts(granularity);
  }

  void reject(long records) {
    rejected += records;
  }

  /** Takes note of believable values; call before {@link #digest(double, int)} for the same ones. */
  void range(long fromMs, long toMs, long records) {
    if (count == 0) {
      minMs = fromMs;
      maxMs = toMs;
      // Offsets from a time nearby: a double then holds fractions of a millisecond.
      baseMs = fromMs;
      digest = TDigests.forWriter();
    } else {
      minMs = Math.min(minMs, fromMs);
      maxMs = Math.max(maxMs, toMs);
    }
    count += records;
  }

  void digest(double meanMs, int weight) {
    digest.add(meanMs - baseMs, weight);
  }

  boolean isEmpty() {
    return count == 0 && nulls == 0 && rejected == 0;
  }

  byte[] serialize() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(VERSION);
    Varint.write(out, nulls);
    Varint.write(out, rejected);
    Varint.write(out, count);
    if (count > 0) {
      Varint.writeSigned(out, minMs);
      Varint.writeSigned(out, maxMs);
      TDigests.Centroids centroids = TDigests.read(digest, baseMs);
      Varint.write(out, centroids.means().length);
      for (int i = 0; i < centroids.means().length; i++) {
        out.writeBytes(ByteBuffer.allocate(Double.BYTES).putDouble(centroids.means()[i]).array());
        Varint.write(out, centroids.weights()[i]);
      }
      Varint.write(out, partitions.counts().size());
      partitions.counts().forEach((index, records) -> {
        Varint.writeSigned(out, index);
        Varint.write(out, records);
      });
      Varint.write(out, partitions.older());
    }
    return out.toByteArray();
  }

  /** A state as read back for merging. */
  record Merged(
      long nulls,
      long rejected,
      long count,
      long minMs,
      long maxMs,
      TDigests.Centroids centroids,
      Map<Long, Long> partitions,
      long older) {}

  static Merged deserialize(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    int version = in.get();
    if (version != VERSION) {
      throw new IllegalArgumentException("event-time state of version " + version + "; this reads " + VERSION);
    }
    long nulls = Varint.read(in);
    long rejected = Varint.read(in);
    long count = Varint.read(in);
    if (count == 0) {
      return new Merged(nulls, rejected, 0, 0, 0, new TDigests.Centroids(new double[0], new long[0]), Map.of(), 0);
    }
    long minMs = Varint.readSigned(in);
    long maxMs = Varint.readSigned(in);
    double[] means = new double[Math.toIntExact(Varint.read(in))];
    long[] weights = new long[means.length];
    for (int i = 0; i < means.length; i++) {
      means[i] = in.getDouble();
      weights[i] = Varint.read(in);
    }
    Map<Long, Long> partitions = new TreeMap<>();
    for (long left = Varint.read(in); left > 0; left--) {
      partitions.put(Varint.readSigned(in), Varint.read(in));
    }
    return new Merged(
        nulls, rejected, count, minMs, maxMs, new TDigests.Centroids(means, weights), partitions, Varint.read(in));
  }
}
