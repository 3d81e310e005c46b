package io.github.rocketwire.spark.columns;

import java.io.ByteArrayOutputStream;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Texts of a buffer. What is not UTF-8 becomes U+FFFD, one for each longest beginning of a sequence, as Python and the
 * Unicode standard have it; Java's own decoder takes a surrogate for one error in place of three.
 */
final class Utf8 {
  private static final byte[] REPLACEMENT = {(byte) 0xEF, (byte) 0xBF, (byte) 0xBD};

  private Utf8() {}

  /** A text, over the same bytes if they are UTF-8. */
  static UTF8String text(byte[] data, int from, int end) {
    int at = Bytes.notAscii(data, from, end);
    while (at < end) {
      int length = sequence(data, at, end);
      if (length < 0) {
        return replaced(data, from, end);
      }
      at += length;
    }
    return UTF8String.fromBytes(data, from, end - from);
  }

  private static UTF8String replaced(byte[] data, int from, int end) {
    ByteArrayOutputStream text = new ByteArrayOutputStream(2 * (end - from));
    for (int at = from; at < end; ) {
      int length = sequence(data, at, end);
      if (length < 0) {
        text.write(REPLACEMENT, 0, REPLACEMENT.length);
      } else {
        text.write(data, at, length);
      }
      at += Math.abs(length);
    }
    return UTF8String.fromBytes(text.toByteArray());
  }

  /** The length of the sequence at a place; of one that is none the negative length of its longest beginning. */
  private static int sequence(byte[] data, int at, int end) {
    int lead = data[at] & 0xFF;
    if (lead < 0x80) {
      return 1;
    }
    int more = lead < 0xC2 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : lead < 0xF5 ? 3 : 0;
    if (more == 0) {
      return -1;
    }
    // Too long forms, surrogates and what is beyond Unicode show in the second byte.
    int least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    int most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (int i = 1; i <= more; i++) {
      int next = at + i < end ? data[at + i] & 0xFF : 0;
      if (next < least || next > most) {
        return -i;
      }
      least = 0x80;
      most = 0xBF;
    }
    return more + 1;
  }
}
