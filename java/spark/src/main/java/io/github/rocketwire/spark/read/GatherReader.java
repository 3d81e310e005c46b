package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.plan.QueueRange;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.FileGone;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Walk;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads the messages that entries of consume queues point to, in the order of the log, each part of it once at most. */
final class GatherReader extends BlockReader {
  /** Bytes between two messages that cost less to read than a second call. */
  private static final int NEAR = 32 << 10;

  private static final int HEAD = 8;

  private final LogSpan span;
  private final Selection selection;
  private final Log log;
  private final Walk walk = new Walk();
  private final byte[][] topics;
  private byte[] data = new byte[BLOCK];
  private Found found;
  private int[] order;
  private int next;

  GatherReader(LogSpan span, Request request) {
    super(request, span.broker());
    this.span = span;
    selection = new Selection(request, span.broker());
    log = new Log(span.files());
    topics = span.queues().stream()
        .map(queue -> queue.topic().getBytes(StandardCharsets.UTF_8))
        .toArray(byte[][]::new);
  }

  @Override
  protected boolean more() throws IOException {
    if (found == null) {
      found = new Found(span, request);
      order = found.inOrder();
    }
    if (next == order.length) {
      return false;
    }
    RowFile file = span.files().get(found.file[order[next]]);
    walk.clear();
    long gone = 0;
    String firstGone = null;
    int used = 0;
    int first = next;
    // Runs of entries near each other are read at once, until the buffer is full.
    while (next < order.length && walk.count < Walk.MOST) {
      int begin = next;
      long start = found.place[order[begin]];
      long stop = start + length(order[begin], file);
      int end = begin + 1;
      while (end < order.length) {
        int one = order[end];
        long place = found.place[one];
        if (found.file[one] != found.file[order[begin]] || place > stop + NEAR || place / BLOCK != start / BLOCK) {
          break;
        }
        stop = Math.max(stop, place + length(one, file));
        end++;
      }
      stop = Math.min(stop, file.end());
      int length = (int) (stop - start);
      if (begin > first && (found.file[order[begin]] != found.file[order[first]] || used + length > BLOCK)) {
        break;
      }
      if (used + length > data.length) {
        data = Arrays.copyOf(data, used + length);
      }
      int filled;
      try {
        filled = log.opened(file).read(start, data, used, length);
      } catch (FileGone missing) {
        filled = 0;
      }
      // Bytes of an earlier part in the buffer do not belong to this one.
      Arrays.fill(data, used + filled, used + length, (byte) 0);
      for (int i = begin; i < end; i++) {
        int one = order[i];
        int at = used + (int) (found.place[one] - start);
        if (!take(one, at, used + filled)) {
          QueueRange queue = span.queues().get(found.queue[one]);
          if (isZero(at, used + length)) {
            if (gone++ == 0) {
              firstGone = queue.topic() + ", queue " + queue.queueId() + ", offset " + found.queueOffset[one];
            }
          } else {
            rows.damaged(new Damaged(
                file.path(),
                found.place[one],
                "the queue's entry leads to what is not its message of " + found.size[one] + " bytes",
                queue.topic(),
                queue.queueId(),
                found.queueOffset[one],
                found.size[one]));
          }
        }
      }
      used += length;
      next = end;
    }
    if (gone > 0) {
      Ranges.lost(
          gone + " messages are no longer in " + file.path() + ", which was cut or removed (first: " + firstGone + ")",
          request.options.failOnDataLoss,
          Ranges.REMEDY);
    }
    selection.ofEntries(data, walk);
    rows.of(data, walk, file.path());
    return true;
  }

  /** The bytes to read for a message: of a large size that its message does not confirm only a head. */
  private int length(int entry, RowFile file) throws IOException {
    int size = found.size[entry];
    if (size <= BLOCK) {
      return size;
    }
    try {
      long place = found.place[entry];
      byte[] head = log.opened(file).read(place, Facts.RECORD_HEAD_MOST);
      return Record.promisedSize(head, 0, head.length, place) == size ? size : Facts.RECORD_HEAD_MOST;
    } catch (FileGone gone) {
      return Facts.RECORD_HEAD_MOST;
    }
  }

  /** Takes a record if the entry points to a whole one with its place, size, topic, queue and queue offset. */
  private boolean take(int entry, int at, int end) {
    int size = found.size[entry];
    if (size < Facts.RECORD_SMALLEST || size > end - at || !walk.take(data, at, end, found.place[entry], size)) {
      return false;
    }
    QueueRange queue = span.queues().get(found.queue[entry]);
    // Light queues point to messages of other topics.
    if (queue.topic().startsWith(Facts.LIGHT_QUEUE_PREFIX)) {
      return true;
    }
    int last = walk.count - 1;
    byte[] topic = topics[found.queue[entry]];
    int from = walk.topic[last];
    boolean belongs = Arrays.equals(topic, 0, topic.length, data, from, from + walk.topicLength[last])
        && Record.int32(data, at + Facts.RECORD_QUEUE_ID_AT) == queue.queueId()
        && Record.int64(data, at + Facts.RECORD_QUEUE_OFFSET_AT) == found.queueOffset[entry];
    walk.count = belongs ? walk.count : last;
    return belongs;
  }

  private boolean isZero(int at, int end) {
    for (int i = at; i < Math.min(at + HEAD, end); i++) {
      if (data[i] != 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void close() throws IOException {
    log.close();
    super.close();
  }
}
