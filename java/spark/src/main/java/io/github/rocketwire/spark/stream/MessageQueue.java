package io.github.rocketwire.spark.stream;

import java.io.Serializable;
import java.util.NavigableMap;

/** A queue of a topic at a broker. */
public record MessageQueue(String broker, String topic, int queueId) implements Comparable<MessageQueue>, Serializable {
  /** The part of a map with the queues of a broker. */
  static <T> NavigableMap<MessageQueue, T> of(String broker, NavigableMap<MessageQueue, T> queues) {
    // A broker's name with a zero behind it is the next one that there may be.
    return queues.subMap(new MessageQueue(broker, "", 0), true, new MessageQueue(broker + "\0", "", 0), false);
  }

  @Override
  public int compareTo(MessageQueue other) {
    int order = broker.compareTo(other.broker);
    order = order == 0 ? topic.compareTo(other.topic) : order;
    return order == 0 ? Integer.compare(queueId, other.queueId) : order;
  }

  @Override
  public String toString() {
    return "broker " + broker + ", topic " + topic + ", queue " + queueId;
  }
}
