package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.store.Entries;
import io.github.rocketwire.spark.store.QueueFiles;
import io.github.rocketwire.spark.store.RowFile;
import java.io.Serializable;
import java.util.List;

/** Entries of one consume queue, from the queue offset {@code first} up to, not including, {@code end}. */
public record QueueRange(String topic, int queueId, String path, long first, long end, List<RowFile> files)
    implements Serializable {
  /** All of a queue. */
  public static QueueRange whole(QueueFiles queue) {
    return new QueueRange(queue.topic(), queue.queueId(), queue.path(), 0, Long.MAX_VALUE, queue.files());
  }

  /** A part of it, with the files that it needs. */
  public QueueRange part(long from, long to) {
    List<RowFile> needed = List.copyOf(files.stream()
        .filter(file -> file.start() / Entries.SIZE < to && file.end() / Entries.SIZE > from)
        .toList());
    return new QueueRange(topic, queueId, path, from, to, needed);
  }
}
