package io.github.rocketwire.spark.stream;

import io.github.rocketwire.spark.plan.Planner;
import io.github.rocketwire.spark.plan.QueueRange;
import io.github.rocketwire.spark.store.Entries;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.QueueFiles;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Limits a micro-batch by messages and by bytes. The message that has waited longest is taken in any case, so that none
 * waits without end; the rest is divided among the queues in proportion to their unread messages.
 */
public final class Admission {
  private Admission() {}

  /**
   * Where each range ends when no more is taken of all.
   *
   * @param rows messages to take at most; null for any number
   * @param size bytes of their records to take at most; null for any number
   */
  static Map<MessageQueue, Long> ends(List<Snapshot> stores, Map<MessageQueue, long[]> ranges, Long rows, Long size)
      throws IOException {
    Map<MessageQueue, Long> ends = new TreeMap<>();
    ranges.forEach((queue, range) -> ends.put(queue, range[1]));
    Map<String, Snapshot> opened = new HashMap<>();
    stores.forEach(store -> opened.put(store.broker, store));
    Map<MessageQueue, QueueRange> waiting = new TreeMap<>();
    ranges.forEach((queue, range) -> {
      QueueFiles files = opened.get(queue.broker()).files().get(new QueueKey(queue.topic(), queue.queueId()));
      if (range[0] < range[1] && files != null) {
        waiting.put(queue, QueueRange.whole(files).part(range[0], range[1]));
      }
    });
    if (waiting.isEmpty() || rows == null && size == null) {
      return ends;
    }
    MessageQueue oldest = oldest(opened, waiting);
    if (rows != null) {
      Map<MessageQueue, Long> lengths = new TreeMap<>();
      waiting.forEach((queue, one) -> lengths.put(queue, one.end() - one.first() - (queue.equals(oldest) ? 1 : 0)));
      Map<MessageQueue, Long> parts = shares(lengths, Math.max(0, rows - 1));
      waiting.replaceAll((queue, one) ->
          one.part(one.first(), one.first() + parts.get(queue) + (queue.equals(oldest) ? 1 : 0)));
    }
    if (size == null) {
      waiting.forEach((queue, one) -> ends.put(queue, one.end()));
    } else {
      bySize(waiting, size, oldest, ends);
    }
    return ends;
  }

  /** The queue whose next message was stored first. */
  private static MessageQueue oldest(Map<String, Snapshot> stores, Map<MessageQueue, QueueRange> waiting)
      throws IOException {
    Map<String, Long> places = new HashMap<>();
    Map<String, MessageQueue> first = new HashMap<>();
    for (Map.Entry<MessageQueue, QueueRange> entry : waiting.entrySet()) {
      try (Entries entries = new Entries(entry.getValue().files())) {
        long place = entries.safe(entry.getValue().first()).place();
        String broker = entry.getKey().broker();
        if (!places.containsKey(broker) || place < places.get(broker)) {
          places.put(broker, place);
          first.put(broker, entry.getKey());
        }
      }
    }
    MessageQueue oldest = null;
    long least = 0;
    for (Map.Entry<String, MessageQueue> entry : new TreeMap<>(first).entrySet()) {
      try (Log log = new Log(stores.get(entry.getKey()).directory.commitLog)) {
        long time = log.storeTime(places.get(entry.getKey()), 0);
        if (oldest == null || time < least) {
          oldest = entry.getValue();
          least = time;
        }
      }
    }
    return oldest;
  }

  private static void bySize(
      Map<MessageQueue, QueueRange> waiting, long most, MessageQueue oldest, Map<MessageQueue, Long> ends)
      throws IOException {
    waiting.forEach((queue, one) -> ends.put(queue, one.end()));
    long[] own = {0};
    QueueRange first = waiting.get(oldest);
    try (Entries entries = new Entries(first.files())) {
      entries.written(first.first(), first.first() + 1, (offset, place, size, code) -> own[0] += size);
    }
    Map<MessageQueue, QueueRange> rest = new TreeMap<>();
    Map<MessageQueue, Long> weights = new TreeMap<>();
    for (Map.Entry<MessageQueue, QueueRange> entry : waiting.entrySet()) {
      QueueRange one = entry.getValue();
      long begin = one.first() + (entry.getKey().equals(oldest) ? 1 : 0);
      if (begin < one.end()) {
        rest.put(entry.getKey(), one.part(begin, one.end()));
        weights.put(entry.getKey(), Planner.weight(rest.get(entry.getKey()), false));
      }
    }
    Map<MessageQueue, Long> parts = shares(weights, Math.max(0, most - own[0]));
    for (Map.Entry<MessageQueue, QueueRange> entry : rest.entrySet()) {
      ends.put(entry.getKey(), endWithin(entry.getValue(), parts.get(entry.getKey())));
    }
  }

  /** The offset up to which the messages of a range take so many bytes at most. */
  private static long endWithin(QueueRange range, long most) throws IOException {
    long[] state = {most, range.end()};
    try (Entries entries = new Entries(range.files())) {
      for (long at = range.first(); at < range.end() && state[1] == range.end(); at += Entries.RUN) {
        entries.written(at, Math.min(range.end(), at + Entries.RUN), (offset, place, size, code) -> {
          state[0] -= size;
          if (state[0] < 0) {
            state[1] = Math.min(state[1], offset);
          }
        });
      }
    }
    return state[1];
  }

  /**
   * Divides a number among backlogs: everything if it fits, else in proportion. The remainder goes to those that would get
   * nothing, and then to the largest.
   */
  public static Map<MessageQueue, Long> shares(Map<MessageQueue, Long> backlogs, long most) {
    long total = backlogs.values().stream().mapToLong(Long::longValue).sum();
    if (total <= most) {
      return backlogs;
    }
    Map<MessageQueue, Long> found = new TreeMap<>();
    backlogs.forEach((queue, backlog) -> found.put(
        queue,
        BigInteger.valueOf(backlog).multiply(BigInteger.valueOf(most)).divide(BigInteger.valueOf(total)).longValue()));
    long left = most - found.values().stream().mapToLong(Long::longValue).sum();
    List<MessageQueue> waiting = new ArrayList<>(backlogs.keySet());
    waiting.removeIf(queue -> backlogs.get(queue) == 0);
    waiting.sort(Comparator.comparing((MessageQueue queue) -> found.get(queue) > 0)
        .thenComparing(queue -> -backlogs.get(queue)));
    for (MessageQueue queue : waiting.subList(0, (int) Math.min(left, waiting.size()))) {
      found.merge(queue, 1L, Long::sum);
    }
    return found;
  }
}
