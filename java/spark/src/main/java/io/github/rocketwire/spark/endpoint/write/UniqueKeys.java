package io.github.rocketwire.spark.endpoint.write;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HexFormat;

/**
 * Ids of messages, as clients make them: 32 or 56 hexadecimal digits of the address, the process, a number that differs
 * for programs of one process, the ms since the month began, and a counter.
 */
final class UniqueKeys {
  private static final HexFormat HEX = HexFormat.of().withUpperCase();
  private final String head;
  private long month = Long.MIN_VALUE;
  private long next; // ms * 65536 + counter, of the next id

  UniqueKeys(byte[] address, long processId) {
    byte[] entropy = new byte[4];
    new SecureRandom().nextBytes(entropy);
    head = HEX.formatHex(address) + HEX.toHexDigits((short) processId) + HEX.formatHex(entropy);
  }

  /** A new id, at a time in ms since 1970. */
  String take(long now) {
    LocalDate first = LocalDate.ofInstant(Instant.ofEpochMilli(now), ZoneOffset.UTC).withDayOfMonth(1);
    long begin = first.atStartOfDay().toInstant(ZoneOffset.UTC).toEpochMilli();
    long least = now - begin << 16;
    // Ids of a month rise, whatever the clock does; tools take the time of sending from them.
    next = begin > month ? least : Math.max(next, least);
    month = Math.max(begin, month);
    byte[] tail = ByteBuffer.allocate(6).putInt((int) (next >> 16)).putShort((short) next).array();
    next++;
    return head + HEX.formatHex(tail);
  }
}
