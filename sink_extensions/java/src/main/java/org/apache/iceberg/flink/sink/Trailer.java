package org.apache.iceberg.flink.sink;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Puts our part behind the bytes of a standard serializer: standard bytes, our bytes, their length, a mark.
 *
 * <p>The standard serializers stop reading where their own part ends, and the version number stays theirs. So the
 * state of a job on the standard sink restores into the extended one (there is no trailer then), and the state of a
 * job on the extended sink restores into the standard one (which does not look at it).
 */
final class Trailer {

  private static final long MARK = 0x1CEB_E26F_1A11_2A7EL;
  private static final int TAIL = Integer.BYTES + Long.BYTES;

  private Trailer() {}

  @FunctionalInterface
  interface Writing {
    void to(DataOutputStream out) throws IOException;
  }

  static byte[] append(byte[] standard, Writing writing) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    writing.to(new DataOutputStream(bytes));
    byte[] ours = bytes.toByteArray();
    return ByteBuffer.allocate(standard.length + ours.length + TAIL)
        .put(standard)
        .put(ours)
        .putInt(ours.length)
        .putLong(MARK)
        .array();
  }

  /** Our part of the bytes, or null if a standard serializer wrote them. */
  static DataInputStream find(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    if (bytes.length < TAIL || buffer.getLong(bytes.length - Long.BYTES) != MARK) {
      return null;
    }
    int length = buffer.getInt(bytes.length - TAIL);
    int from = bytes.length - TAIL - length;
    return new DataInputStream(new ByteArrayInputStream(Arrays.copyOfRange(bytes, from, from + length)));
  }
}
