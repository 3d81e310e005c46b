package io.github.rocketwire.spark.endpoint.write;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class UniqueKeysTest {
  private static final long MARCH = Instant.parse("2026-03-01T00:00:00Z").toEpochMilli();

  @Test
  void idsHaveAddressProcessTimeAndCounter() {
    UniqueKeys keys = new UniqueKeys(new byte[] {127, 0, 0, 1}, 0x12345);
    String id = keys.take(MARCH + 258);
    assertEquals(32, id.length());
    assertEquals("7F0000012345", id.substring(0, 12));
    assertEquals("000001020000", id.substring(20));
    assertEquals("000001020001", keys.take(MARCH + 258).substring(20));
    assertEquals("000001020002", keys.take(MARCH).substring(20), "a clock that is set back");
    assertEquals("000001030000", keys.take(MARCH + 259).substring(20));
  }

  @Test
  void aNewMonthBeginsAtZero() {
    UniqueKeys keys = new UniqueKeys(new byte[16], 1);
    keys.take(MARCH - 1);
    assertEquals("000000000000", keys.take(MARCH).substring(44));
  }
}
