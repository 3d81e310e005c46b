package io.github.rocketwire.spark.columns;

import io.github.rocketwire.spark.Facts;

/**
 * Reads the property text of a record: {@code name 0x01 value 0x02 name 0x01 value}. An item without a name or a value is
 * ignored, and the last of equal names wins; what is not UTF-8 becomes U+FFFD.
 */
final class Properties {
  private static final long ITEM_ENDS = Bytes.wordOf(Facts.ITEM_SEP);

  private Properties() {}

  /** Where the value of a property begins, in the high half, and ends; -1 without one. */
  static long find(byte[] data, int from, int end, byte[] name) {
    long found = -1;
    int at = from;
    while (at < end) {
      int stop = Bytes.next(data, at, end, ITEM_ENDS);
      int value = at + name.length + 1;
      if (value < stop && data[value - 1] == Facts.NAME_SEP && matches(data, at, name)) {
        found = (long) value << 32 | stop;
      }
      at = stop + 1;
    }
    return found;
  }

  /** Whether a name is at this place. */
  static boolean matches(byte[] data, int at, byte[] name) {
    for (int i = 0; i < name.length; i++) {
      if (data[at + i] != name[i]) {
        return false;
      }
    }
    return true;
  }
}
