package io.github.icebergfinalization.eventtime;

import io.github.icebergfinalization.eventtime.TDigests.Centroids;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Base64;

/**
 * The text form of a digest in the snapshot summary.
 *
 * <p>Base64 without padding of: version byte 1, number of centroids, minimum (zigzag), maximum minus minimum, then for
 * each centroid in ascending order the rounded offset of its mean from the minimum, as the difference to the one before,
 * and its weight. All numbers are LEB128 varints; times are milliseconds.
 */
final class DigestCodec {

  private static final int VERSION = 1;

  private DigestCodec() {}

  static String encode(long minMs, long maxMs, Centroids centroids) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(VERSION);
    Varint.write(out, centroids.means().length);
    Varint.writeSigned(out, minMs);
    Varint.write(out, maxMs - minMs);
    long previous = 0;
    for (int i = 0; i < centroids.means().length; i++) {
      long offset = Math.round(centroids.means()[i] - minMs);
      Varint.write(out, offset - previous);
      Varint.write(out, centroids.weights()[i]);
      previous = offset;
    }
    return Base64.getEncoder().withoutPadding().encodeToString(out.toByteArray());
  }

  /** What {@link #encode} was given, with means rounded to milliseconds. */
  record Decoded(long minMs, long maxMs, Centroids centroids) {}

  static Decoded decode(String text) {
    ByteBuffer in = ByteBuffer.wrap(Base64.getDecoder().decode(text));
    int version = in.get();
    if (version != VERSION) {
      throw new IllegalArgumentException("digest of version " + version + "; this reads version " + VERSION);
    }
    int size = Math.toIntExact(Varint.read(in));
    long minMs = Varint.readSigned(in);
    long maxMs = minMs + Varint.read(in);
    double[] means = new double[size];
    long[] weights = new long[size];
    long offset = 0;
    for (int i = 0; i < size; i++) {
      offset += Varint.read(in);
      means[i] = minMs + offset;
      weights[i] = Varint.read(in);
    }
    return new Decoded(minMs, maxMs, new Centroids(means, weights));
  }
}
