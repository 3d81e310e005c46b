package io.github.rocketwire.spark.columns;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.store.Record;
import org.apache.spark.unsafe.types.UTF8String;

/** Hosts as text, and the ids that are made of a host and a physical offset. */
final class Hosts {
  private static final byte[] DIGITS = "0123456789ABCDEF".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  private Hosts() {}

  /** A host: {@code address:port}, an IPv6 address in brackets. */
  static UTF8String text(byte[] data, int at, boolean v6) {
    StringBuilder text = new StringBuilder(24);
    if (v6) {
      text.append('[');
      address(data, at, text);
      text.append("]:").append(Record.int32(data, at + 16));
    } else {
      for (int i = 0; i < 4; i++) {
        text.append(data[at + i] & 0xFF).append(i < 3 ? '.' : ':');
      }
      text.append(Record.int32(data, at + 4));
    }
    return UTF8String.fromString(text.toString());
  }

  /** An IPv6 address in its canonical form: the longest run of two or more zero groups is {@code ::}. */
  private static void address(byte[] data, int at, StringBuilder text) {
    int best = -1;
    int length = 1;
    for (int i = 0; i < 8; i++) {
      int j = i;
      while (j < 8 && Record.uint16(data, at + 2 * j) == 0) {
        j++;
      }
      if (j - i > length) {
        best = i;
        length = j - i;
      }
      i = Math.max(i, j - 1);
    }
    for (int i = 0; i < 8; i++) {
      if (i == best) {
        text.append("::");
        i += length - 1;
      } else {
        if (i > 0 && text.charAt(text.length() - 1) != ':') {
          text.append(':');
        }
        text.append(Integer.toHexString(Record.uint16(data, at + 2 * i)));
      }
    }
  }

  /** The offset message id: store host and physical offset as hexadecimal digits. */
  static UTF8String offsetId(byte[] data, int position) {
    int sysFlag = Record.int32(data, position + Facts.RECORD_SYS_FLAG_AT);
    int host = (sysFlag & Facts.SYS_FLAG_STORE_HOST_V6) == 0 ? Facts.HOST_V4_SIZE : Facts.HOST_V6_SIZE;
    int from = position + Facts.RECORD_STORE_HOST_AT + ((sysFlag & Facts.SYS_FLAG_BORN_HOST_V6) == 0 ? 0 : Record.V6_MORE);
    byte[] digits = new byte[2 * (host + 8)];
    for (int i = 0; i < host + 8; i++) {
      int octet = data[i < host ? from + i : position + Facts.RECORD_PHYSICAL_OFFSET_AT + i - host] & 0xFF;
      digits[2 * i] = DIGITS[octet >> 4];
      digits[2 * i + 1] = DIGITS[octet & 0xF];
    }
    return UTF8String.fromBytes(digits);
  }
}
