package io.github.rocketwire.spark.stream;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.store.FileGone;
import io.github.rocketwire.spark.store.OpenFile;
import io.github.rocketwire.spark.store.Queue;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Snapshot;
import io.github.rocketwire.spark.store.Walk;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Whether a queue is being rebuilt: a broker that starts after a crash clears queues and fills them again. Meanwhile a
 * queue has fewer entries than before; the messages are not lost as long as the log has them.
 */
final class Lagging {
  private static final int BLOCK = 4 << 20;

  private Lagging() {}

  /** Whether the log has messages of a queue behind that of its last entry. */
  static boolean is(Snapshot store, QueueKey key) throws IOException {
    long most = store.bounds(key)[1];
    long start = lastPlace(store, key);
    byte[] topic = key.topic().getBytes(StandardCharsets.UTF_8);
    for (RowFile row : store.directory.commitLog) {
      if (row.end() <= start || row.start() >= store.end) {
        continue;
      }
      try (OpenFile file = new OpenFile(row)) {
        if (has(file, Math.max(start, row.start()), topic, key.queueId(), most)) {
          return true;
        }
      } catch (FileGone gone) {
        continue;
      }
    }
    return false;
  }

  private static long lastPlace(Snapshot store, QueueKey key) throws IOException {
    long[] bounds = store.bounds(key);
    if (bounds[0] == bounds[1]) {
      return store.start;
    }
    try (Queue queue = new Queue(store.files().get(key), store.start)) {
      return Math.max(store.start, queue.safe(bounds[1] - 1).place());
    }
  }

  private static boolean has(OpenFile file, long from, byte[] topic, int queueId, long least) throws IOException {
    Walk walk = new Walk();
    byte[] data = new byte[BLOCK];
    long at = from;
    while (true) {
      int length = file.read(at, data, 0, data.length);
      walk.run(data, at, 0, length, length < data.length, Walk.MOST);
      for (int i = 0; i < walk.count; i++) {
        int position = walk.position[i];
        int name = walk.topic[i];
        if (Record.int32(data, position + Facts.RECORD_QUEUE_ID_AT) == queueId
            && Record.int64(data, position + Facts.RECORD_QUEUE_OFFSET_AT) >= least
            && Arrays.equals(topic, 0, topic.length, data, name, name + walk.topicLength[i])) {
          return true;
        }
      }
      if (walk.stop == Walk.Stop.MORE && walk.next == 0) {
        int size = Record.promisedSize(data, 0, length, at);
        if (size <= data.length) {
          return false;
        }
        data = new byte[size + 4096];
      } else if (walk.stop != Walk.Stop.MORE && walk.stop != Walk.Stop.FULL) {
        return false;
      }
      at += walk.next;
    }
  }
}
