package io.github.rocketwire.spark.store;

import java.io.Serializable;
import java.util.Comparator;

/** A queue of a topic. */
public record QueueKey(String topic, int queueId) implements Serializable, Comparable<QueueKey> {
  private static final Comparator<QueueKey> ORDER =
      Comparator.comparing(QueueKey::topic).thenComparingInt(QueueKey::queueId);

  @Override
  public int compareTo(QueueKey other) {
    return ORDER.compare(this, other);
  }
}
