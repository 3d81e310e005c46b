package io.github.rocketwire.spark.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.github.rocketwire.spark.SourceException;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QueueOffsetsTest {
  /** As Python's json.dumps wrote it. */
  private static final String PYTHONS =
      "{\"/a \\u00e9\\\"\": {\"@last\": {\"physical_offset\": 5, \"store_timestamp\": 6, \"body_crc\": -7}, \"T\": {\"2\": 7, \"10\": 8}, \"U\": {\"0\": 0}}, \"b\": {\"T\": {\"0\": 9}}}";

  @Test
  void aCheckpointOfPythonIsWrittenToTheLetter() {
    assertEquals(PYTHONS, QueueOffsets.parse(PYTHONS).json());
    assertEquals("{}", QueueOffsets.parse("{}").json());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "7", "[]", "{\"b\": 1}", "{\"b\": {\"T\": {\"x\": 1}}}", "{\"b\": {\"T\": {\"0\": -1}}}"})
  void otherTextsAreRefused(String json) {
    assertThrows(SourceException.class, () -> QueueOffsets.parse(json));
  }

  @Test
  void sharesAddUpAndStarveNone() {
    Map<MessageQueue, Long> backlogs = new TreeMap<>();
    backlogs.put(new MessageQueue("b", "T", 0), 1000L);
    backlogs.put(new MessageQueue("b", "T", 1), 1L);
    backlogs.put(new MessageQueue("b", "T", 2), 0L);
    assertEquals("[9, 1, 0]", Admission.shares(backlogs, 10).values().toString());
    assertEquals(backlogs, Admission.shares(backlogs, 2000));
  }
}
