package io.github.rocketwire.spark.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.SourceException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionsTest {
  private static Options parse(String... pairs) {
    Map<String, String> options = new HashMap<>(Map.of("path", "/data"));
    for (int i = 0; i < pairs.length; i += 2) {
      options.put(pairs[i], pairs[i + 1]);
    }
    return Options.parse(options);
  }

  @Test
  void allColumnsAreTheDefault() {
    assertEquals(Columns.ALL, parse().columns);
    assertEquals(List.of("body", "topic"), parse("COLUMNS", "Body, topic").columns);
  }

  @ParameterizedTest
  @CsvSource({"128m,134217728", "64 KiB,65536", "1,1024", "2048,2048", "1g,1073741824"})
  void sizes(String text, long bytes) {
    assertEquals(bytes, parse("maxBytesPerPartition", text).maxBytesPerPartition);
  }

  @ParameterizedTest
  @CsvSource({
    "1700000000000,1700000000000",
    "2026-01-31T09:30:00+01:00,1769848200000",
    "2026-01-31T08:30:00Z,1769848200000",
    "2026-01-31 08:30,1769848200000",
    "2026-01-31,1769817600000"
  })
  void times(String text, long ms) {
    assertEquals(ms, parse("startingTimestamp", text).since);
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {
    "topc;x;there is no option topc. Did you mean topic?",
    "columns;bdy;there is no column bdy (option columns). Did you mean body?",
    "mode;loud;option mode cannot be 'loud'",
    "startingTimestamp;20;option startingTimestamp cannot be '20'",
    "startingOffsets;{\"T\": 1};option startingOffsets cannot be",
    "queues;1,1;option queues cannot be '1,1'",
    "decompress;maybe;It is true or false"
  })
  void theErrorNamesTheMistake(String name, String text, String message) {
    SourceException error = assertThrows(SourceException.class, () -> parse(name, text));
    assertEquals(SourceException.OPTION_INVALID, error.getErrorClass());
    assertTrue(error.getMessage().contains(message), error.getMessage());
  }

  @Test
  void hiddenTopicsAreReadByName() {
    assertFalse(parse().takesTopic("%RETRY%g"));
    assertTrue(parse("includeSystemTopics", "true").takesTopic("%RETRY%g"));
    assertFalse(parse("includeSystemTopics", "true").takesTopic("%LMQ%light"));
    assertTrue(parse("topics", "%LMQ%light,T").takesTopic("%LMQ%light"));
    assertEquals(Set.of("a", "b"), parse("topic", "a", "topics", "a,b").topics);
    assertTrue(parse("topicPattern", "(?P<n>Or).*").takesTopic("Orders"));
  }

  @Test
  void offsetsOfQueues() {
    Options.RequestedOffsets offsets = parse("startingOffsets", "{\"b\": {\"T\": {\"0\": 7, \"1\": -1}}}").starting;
    assertEquals(7, offsets.of("b", "T", 0));
    assertEquals(Options.LATEST, offsets.of("b", "T", 1));
    assertEquals(null, offsets.of("c", "T", 0));
    assertEquals(Options.EARLIEST, parse("startingOffsets", " Earliest").starting.of("c", "T", 0));
  }
}
