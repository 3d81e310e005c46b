package io.github.rocketwire.spark.columns;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PropertiesTest {
  /** Separators are written as = and ; here. */
  static byte[] text(String shown) {
    return shown.replace('=', '\1').replace(';', '\2').getBytes(StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "TAGS=a;KEYS=k|a",
    "KEYS=k;TAGS=a;|a",
    "TAGS=a;TAGS=b|b",
    "TAGS=a;TAGS=|a",
    "TAGS=a=b|a=b",
    "UNIQ_KEY=0123456789ABCDEF;WAIT=true;KEYS=a longer text;TAGS=a value of many bytes;Z=z|a value of many bytes",
    "XTAGS=x;TAGSX=y|",
    "TAGS|",
    "'TAGS=';|",
    "TAGS=é|é"
  })
  void theLastWithAValueCounts(String shown, String expected) {
    byte[] data = text(shown.replace("'", ""));
    long found = Properties.find(data, 0, data.length, "TAGS".getBytes(StandardCharsets.US_ASCII));
    String value = found < 0 ? null : Utf8.text(data, (int) (found >> 32), (int) found).toString();
    assertEquals(expected == null ? null : expected.replace('=', '\1'), value);
  }

  @Test
  void bytesThatAreNotTextAreReplaced() {
    byte[] data = {'a', (byte) 0xFF, 'b'};
    assertEquals("a\uFFFDb", Utf8.text(data, 0, 3).toString());
    byte[] surrogate = {(byte) 0xED, (byte) 0xA0, (byte) 0x80, 'a', (byte) 0xE6, (byte) 0x97};
    assertEquals("\uFFFD\uFFFD\uFFFDa\uFFFD", Utf8.text(surrogate, 0, 6).toString());
  }
}
