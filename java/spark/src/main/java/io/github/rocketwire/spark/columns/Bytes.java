package io.github.rocketwire.spark.columns;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Searches in a buffer that compare eight bytes at once. */
final class Bytes {
  private static final long LOW_BITS = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private Bytes() {}

  /** A word full of a byte, for {@link #next}. */
  static long wordOf(int value) {
    return value * LOW_BITS;
  }

  /** The next place of a byte, of which a word is full; the end if there is none. */
  static int next(byte[] data, int from, int end, long word) {
    int at = from;
    for (; at + Long.BYTES <= end; at += Long.BYTES) {
      long bytes = (long) WORD.get(data, at) ^ word;
      long zero = bytes - LOW_BITS & ~bytes & HIGH_BITS;
      if (zero != 0) {
        return at + (Long.numberOfTrailingZeros(zero) >> 3);
      }
    }
    while (at < end && data[at] != (byte) word) {
      at++;
    }
    return at;
  }

  /** The next place of a byte that is not ASCII; the end if there is none. */
  static int notAscii(byte[] data, int from, int end) {
    int at = from;
    for (; at + Long.BYTES <= end; at += Long.BYTES) {
      long high = (long) WORD.get(data, at) & HIGH_BITS;
      if (high != 0) {
        return at + (Long.numberOfTrailingZeros(high) >> 3);
      }
    }
    while (at < end && data[at] >= 0) {
      at++;
    }
    return at;
  }
}
