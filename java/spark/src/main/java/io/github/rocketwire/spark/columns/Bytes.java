package io.github.rocketwire.spark.columns;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Searches in a buffer that compare eight bytes at once. */
final class Bytes {
  private static final long LOW_BITS = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final long SPACES = 0x2020202020202020L;
  private static final long BUT_TWO_BITS = 0xFCFCFCFCFCFCFCFCL;
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

  /** Up to eight bytes from a place on, the first one lowest; in place of those behind the end are spaces. */
  static long word(byte[] data, int from, int end) {
    int left = end - from;
    if (left >= Long.BYTES) {
      return (long) WORD.get(data, from);
    }
    long mask = (1L << Byte.SIZE * left) - 1;
    if (from + Long.BYTES <= data.length) {
      return (long) WORD.get(data, from) & mask | SPACES & ~mask;
    }
    long found = 0;
    for (int i = left - 1; i >= 0; i--) {
      found = found << Byte.SIZE | data[from + i] & 0xFF;
    }
    return found | SPACES & ~mask;
  }

  /** The highest bit of each byte of a word that is 0 to 3, and no other. */
  static long below4(long word) {
    long rest = word & BUT_TWO_BITS;
    return ~((rest & ~HIGH_BITS) + ~HIGH_BITS | rest) & HIGH_BITS;
  }

  /** Whether all bytes of a word, or of some that were joined by "or", are ASCII. */
  static boolean isAscii(long word) {
    return (word & HIGH_BITS) == 0;
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
