package io.github.icebergfinalization.eventtime;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;

/** Unsigned LEB128 variable-length integers, and their zigzag form for signed values. */
final class Varint {

  private Varint() {}

  static void write(ByteArrayOutputStream out, long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      out.write((int) (rest & 0x7F) | 0x80);
      rest >>>= 7;
    }
    out.write((int) rest);
  }

  static void writeSigned(ByteArrayOutputStream out, long value) {
    write(out, (value << 1) ^ (value >> 63));
  }

  static long read(ByteBuffer in) {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      byte next = in.get();
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw new IllegalArgumentException("varint longer than 64 bits");
  }

  static long readSigned(ByteBuffer in) {
    long value = read(in);
    return (value >>> 1) ^ -(value & 1);
  }
}
