package io.github.rocketwire.spark.endpoint.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.rocketwire.spark.SourceException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WriteOptionsTest {
  @Test
  void valuesAndDefaults() {
    WriteOptions found = new WriteOptions(
        Map.of("NAMESRV", "a:1", "maxbatchbytes", "2k", "checkpointLocation", "x", "path", ""));
    assertEquals("a:1", found.endpoint.nameServers);
    assertEquals(2048, found.maxBatchBytes);
    assertEquals(4 << 20, found.maxMessageSize);
    assertEquals(3, found.retries);
    assertNull(found.topic);
  }

  @ParameterizedTest
  @CsvSource({
    "retries,x,option retries cannot be 'x'",
    "path,/data,messages cannot be written to the path /data",
    "retrys,1,there is no option retrys of writing. Did you mean retries?",
    "consumerGroup,g,there is no option consumerGroup of writing",
    "secretKey,s,one of the options accessKey and secretKey is missing"
  })
  void invalid(String name, String text, String expected) {
    Map<String, String> given = new HashMap<>(Map.of("namesrv", "a:1"));
    given.put(name, text);
    SourceException error = assertThrows(SourceException.class, () -> new WriteOptions(given));
    assertTrue(error.getMessage().startsWith("[ROCKETMQ_OPTION_INVALID] " + expected), error.getMessage());
  }
}
