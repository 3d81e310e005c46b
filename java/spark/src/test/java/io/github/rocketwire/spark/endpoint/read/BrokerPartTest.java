package io.github.rocketwire.spark.endpoint.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.rocketwire.spark.endpoint.read.BrokerPart.Span;
import io.github.rocketwire.spark.stream.MessageQueue;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class BrokerPartTest {
  private static final Random CHANCE = new Random(7);

  @Test
  void eachMessageIsOfOnePartOfItsBroker() {
    for (int turn = 0; turn < 300; turn++) {
      Map<MessageQueue, long[]> ranges = new TreeMap<>();
      Set<List<Object>> expected = new HashSet<>();
      for (int number = CHANCE.nextInt(8); number > 0; number--) {
        MessageQueue queue = new MessageQueue("b" + CHANCE.nextInt(3), "T" + CHANCE.nextInt(2), CHANCE.nextInt(3));
        long first = CHANCE.nextInt(50);
        ranges.put(queue, new long[] {first, first + CHANCE.nextInt(40)});
      }
      ranges.forEach((queue, range) -> add(expected, queue, range[0], range[1]));
      int least = 1 + CHANCE.nextInt(9);
      List<BrokerPart> parts = BrokerPart.plan(ranges, 1 + CHANCE.nextInt(200), 1 + CHANCE.nextInt(4000), least);
      Set<List<Object>> found = new HashSet<>();
      for (BrokerPart part : parts) {
        for (Span span : part.spans()) {
          assertEquals(part.broker(), span.queue().broker());
          add(found, span.queue(), span.first(), span.end());
        }
      }
      assertEquals(expected, found);
      assertTrue(parts.size() >= Math.min(least, expected.size()), parts.toString());
    }
  }

  @Test
  void partsAreOfEqualSize() {
    Map<MessageQueue, long[]> ranges = new TreeMap<>();
    ranges.put(new MessageQueue("a", "T", 0), new long[] {10, 20});
    ranges.put(new MessageQueue("a", "T", 1), new long[] {0, 5});
    List<BrokerPart> parts = BrokerPart.plan(ranges, 100, 700, 1);
    assertEquals(List.of(5L, 5L, 5L), parts.stream()
        .map(part -> part.spans().stream().mapToLong(span -> span.end() - span.first()).sum())
        .toList());
    assertEquals(List.of(), BrokerPart.plan(Map.of(), 1024, 1024, 3));
  }

  private static void add(Set<List<Object>> found, MessageQueue queue, long first, long end) {
    for (long offset = first; offset < end; offset++) {
      assertTrue(found.add(List.of(queue, offset)), "twice: " + queue + " " + offset);
    }
  }
}
