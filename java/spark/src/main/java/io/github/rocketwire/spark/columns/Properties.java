package io.github.rocketwire.spark.columns;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads the property text of a record: {@code name 0x01 value 0x02 name 0x01 value}. An item without a name or a value is
 * ignored, and the last of equal names wins; what is not UTF-8 becomes U+FFFD.
 */
final class Properties {
  private static final byte NAME_END = 1;
  private static final long LOW_BITS = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final long NAME_ENDS = NAME_END * LOW_BITS;
  private static final long ITEM_ENDS = 2 * LOW_BITS;
  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final UTF8String[] NONE = {};

  private Properties() {}

  /** Where the value of a property begins, in the high half, and ends; -1 without one. */
  static long find(byte[] data, int from, int end, byte[] name) {
    long found = -1;
    int at = from;
    while (at < end) {
      int stop = next(data, at, end, ITEM_ENDS);
      int value = at + name.length + 1;
      if (value < stop && data[value - 1] == NAME_END && matches(data, at, name)) {
        found = (long) value << 32 | stop;
      }
      at = stop + 1;
    }
    return found;
  }

  /** The next place of a byte, of which a word is full; the end if there is none. Eight are compared at once. */
  private static int next(byte[] data, int from, int end, long word) {
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

  private static boolean matches(byte[] data, int at, byte[] name) {
    for (int i = 0; i < name.length; i++) {
      if (data[at + i] != name[i]) {
        return false;
      }
    }
    return true;
  }

  /** The words of a value. */
  static UTF8String[] words(byte[] data, int from, int end) {
    List<UTF8String> words = new ArrayList<>(2);
    int at = from;
    while (at < end) {
      int stop = at;
      while (stop < end && data[stop] != ' ') {
        stop++;
      }
      if (stop > at) {
        words.add(Utf8.text(data, at, stop));
      }
      at = stop + 1;
    }
    return words.isEmpty() ? NONE : words.toArray(UTF8String[]::new);
  }

  /** All properties, by name. */
  static Map<UTF8String, UTF8String> all(byte[] data, int from, int end) {
    Map<UTF8String, UTF8String> found = new LinkedHashMap<>();
    int at = from;
    while (at < end) {
      int stop = next(data, at, end, ITEM_ENDS);
      int middle = next(data, at, stop, NAME_ENDS);
      if (middle > at && middle + 1 < stop) {
        found.put(Utf8.text(data, at, middle), Utf8.text(data, middle + 1, stop));
      }
      at = stop + 1;
    }
    return found;
  }
}
