package io.github.rocketwire.spark.read;

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
  private static final byte ITEM_END = 2;
  private static final UTF8String[] NONE = {};

  private Properties() {}

  /** Where the value of a property begins, in the high half, and ends; -1 without one. */
  static long find(byte[] data, int from, int end, byte[] name) {
    long found = -1;
    int at = from;
    while (at < end) {
      int stop = at;
      while (stop < end && data[stop] != ITEM_END) {
        stop++;
      }
      int value = at + name.length + 1;
      if (value < stop && data[value - 1] == NAME_END && matches(data, at, name)) {
        found = (long) value << 32 | stop;
      }
      at = stop + 1;
    }
    return found;
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
      int stop = at;
      int middle = -1;
      while (stop < end && data[stop] != ITEM_END) {
        if (middle < 0 && data[stop] == NAME_END) {
          middle = stop;
        }
        stop++;
      }
      if (middle > at && middle + 1 < stop) {
        found.put(Utf8.text(data, at, middle), Utf8.text(data, middle + 1, stop));
      }
      at = stop + 1;
    }
    return found;
  }
}
