package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.stream.MessageQueue;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.InputPartition;

/** The ranges of queues that one task pulls, all from one broker. */
record BrokerPart(String broker, List<Span> spans) implements InputPartition {
  /** Messages of one queue, from the queue offset {@code first} up to, not including, {@code end}. */
  record Span(MessageQueue queue, long first, long end) implements Serializable {}

  private static BrokerPart of(List<Span> spans) {
    return new BrokerPart(spans.get(0).queue.broker(), List.copyOf(spans));
  }

  /**
   * Tasks that pull all of the ranges, each message once.
   *
   * @param ranges of each queue, in order
   * @param size bytes of a message, about
   * @param maxBytes a task pulls not more than so many, about
   * @param minPartitions there are no fewer tasks, if there are so many messages
   */
  static List<BrokerPart> plan(Map<MessageQueue, long[]> ranges, long size, long maxBytes, int minPartitions) {
    long total = ranges.values().stream().mapToLong(range -> range[1] - range[0]).sum();
    long each = Math.max(1, maxBytes / size); // messages of a task
    long count = Math.min(total, Math.max(minPartitions, -Math.floorDiv(-total, each)));
    List<BrokerPart> parts = new ArrayList<>();
    List<Span> taken = new ArrayList<>();
    long passed = 0;
    long number = 1;
    for (Map.Entry<MessageQueue, long[]> entry : ranges.entrySet()) {
      MessageQueue queue = entry.getKey();
      long first = entry.getValue()[0];
      long end = entry.getValue()[1];
      if (!taken.isEmpty() && !taken.get(0).queue.broker().equals(queue.broker())) {
        parts.add(of(taken));
        taken.clear();
      }
      while (first < end) {
        // The messages of all ranges in their order are cut into tasks of equal size, and at the end of each broker.
        long edge = edge(number, total, count);
        long until = Math.min(end, first + edge - passed);
        taken.add(new Span(queue, first, until));
        passed += until - first;
        first = until;
        if (passed == edge) {
          number++;
          parts.add(of(taken));
          taken.clear();
        }
      }
    }
    if (!taken.isEmpty()) {
      parts.add(of(taken));
    }
    return parts;
  }

  private static long edge(long number, long total, long count) {
    BigInteger product = BigInteger.valueOf(number).multiply(BigInteger.valueOf(total));
    return product.divide(BigInteger.valueOf(count)).longValueExact();
  }
}
