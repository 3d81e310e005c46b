package io.github.rocketwire.spark.endpoint;

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

class EndpointOptionsTest {
  @Test
  void valuesAndDefaults() {
    EndpointOptions found = new EndpointOptions(Map.of("NAMESRV", "a:1;[::1]:2", "topic", "T"));
    assertEquals("[a/<unresolved>:1, ::1/<unresolved>:2]", found.addresses().toString().replace("[::1]", "::1"));
    assertEquals(15000, found.timeoutMs);
    assertEquals("TOOLS_CONSUMER", found.group);
    assertNull(found.accessKey);
  }

  @ParameterizedTest
  @CsvSource({
    "endpointTimeoutMs,0,option endpointTimeoutMs cannot be '0'",
    "namesrv,host,option namesrv host: expected",
    "namesrv,host:70000,option namesrv host:70000: expected",
    "namesrv,::1:1,option namesrv ::1:1: expected",
    "namesrv,;,option namesrv ;: expected",
    "consumerGroup,a b,option consumerGroup cannot be 'a b'. the specified group[a b] contains illegal characters",
    "secretKey,s,one of the options accessKey and secretKey is missing"
  })
  void invalid(String name, String text, String expected) {
    Map<String, String> given = new HashMap<>(Map.of("namesrv", "a:1"));
    given.put(name, text);
    SourceException error = assertThrows(SourceException.class, () -> new EndpointOptions(given));
    assertTrue(error.getMessage().startsWith("[ROCKETMQ_OPTION_INVALID] " + expected), error.getMessage());
  }
}
