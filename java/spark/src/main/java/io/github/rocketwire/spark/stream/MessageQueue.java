package io.github.rocketwire.spark.stream;

import java.io.Serializable;
import java.util.Comparator;

/** A queue of a topic at a broker. */
public record MessageQueue(String broker, String topic, int queueId) implements Comparable<MessageQueue>, Serializable {
  private static final Comparator<MessageQueue> ORDER = Comparator.comparing(MessageQueue::broker)
      .thenComparing(MessageQueue::topic)
      .thenComparingInt(MessageQueue::queueId);

  @Override
  public int compareTo(MessageQueue other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return "broker " + broker + ", topic " + topic + ", queue " + queueId;
  }
}
