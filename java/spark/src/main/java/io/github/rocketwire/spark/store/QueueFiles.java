package io.github.rocketwire.spark.store;

import java.io.Serializable;
import java.util.List;

/** The files of one consume queue, in order; none if only its directory remains. */
public record QueueFiles(String topic, int queueId, String path, List<RowFile> files) implements Serializable {
  public QueueKey key() {
    return new QueueKey(topic, queueId);
  }
}
