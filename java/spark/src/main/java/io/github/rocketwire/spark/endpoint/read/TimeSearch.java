package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.endpoint.Cluster;
import io.github.rocketwire.spark.endpoint.Connection;
import io.github.rocketwire.spark.stream.MessageQueue;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds the first message of a queue that was stored at a time (ms since 1970) or later.
 *
 * <p>Brokers answer a search by time differently, and some return any of several messages of that time. So the search
 * begins at their answer and examines messages itself: near the hint, then farther and farther, then by bisection.
 */
final class TimeSearch {
  private final long time;
  private long first;
  private long end;
  private long at;
  private long step = 1;
  private Boolean last; // whether the last message was too early
  private boolean bisecting;

  TimeSearch(long time, long first, long end, long hint) {
    this.time = time;
    this.first = first;
    this.end = end;
    at = Math.min(Math.max(hint, first), end - 1);
  }

  /** The offset whose message is to be examined; the result when {@link #isDone}. */
  long at() {
    return isDone() ? first : at;
  }

  boolean isDone() {
    return first >= end;
  }

  /** Takes the store time of the message at {@link #at}; null when there is none. */
  void see(Long stored) {
    boolean early = stored == null || stored < time;
    if (early) {
      first = at + 1;
    } else {
      end = at;
    }
    bisecting |= last != null && last != early;
    at = bisecting ? (first + end) >>> 1 : Math.min(Math.max(at + (early ? step : -step), first), end - 1);
    step *= 2;
    last = early;
  }

  /** The offset of each queue; the end of its range if it has no such message. */
  static Map<MessageQueue, Long> find(Cluster cluster, Map<MessageQueue, long[]> ranges, long time, String group)
      throws IOException {
    Map<MessageQueue, Long> found = new HashMap<>();
    ranges.forEach((queue, range) -> found.put(queue, range[1]));
    List<MessageQueue> filled = ranges.keySet().stream()
        .filter(queue -> ranges.get(queue)[0] < ranges.get(queue)[1])
        .toList();
    for (Map.Entry<String, List<MessageQueue>> entry : Queues.byBroker(filled).entrySet()) {
      find(cluster.broker(entry.getKey()), entry.getValue(), ranges, time, group, found);
    }
    return found;
  }

  private static void find(
      Connection connection, List<MessageQueue> queues, Map<MessageQueue, long[]> ranges, long time, String group,
      Map<MessageQueue, Long> found)
      throws IOException {
    List<Map<String, String>> requests = new ArrayList<>();
    for (MessageQueue queue : queues) {
      Map<String, String> fields = Pulls.of(queue);
      fields.put("timestamp", Long.toString(time));
      requests.add(fields);
    }
    List<Connection.Answer> hints =
        connection.requestAll(Facts.CODE_SEARCH_OFFSET_BY_TIMESTAMP, requests, Set.of(Facts.RESPONSE_SUCCESS));
    Map<MessageQueue, TimeSearch> searches = new HashMap<>();
    for (int i = 0; i < hints.size(); i++) {
      long[] range = ranges.get(queues.get(i));
      searches.put(queues.get(i), new TimeSearch(time, range[0], range[1], hints.get(i).number("offset")));
    }
    // All queues search in parallel: each step is one round trip to the broker.
    for (List<MessageQueue> left = queues; !left.isEmpty(); ) {
      List<Map<String, String>> pulls = left.stream()
          .map(queue -> Pulls.fields(queue, searches.get(queue).at(), 1, group))
          .toList();
      List<Connection.Answer> answers = connection.requestAll(Facts.CODE_PULL_MESSAGE, pulls, Pulls.PULLED);
      for (int i = 0; i < answers.size(); i++) {
        searches.get(left.get(i)).see(Pulls.storeTime(answers.get(i)));
      }
      left = left.stream().filter(queue -> !searches.get(queue).isDone()).toList();
    }
    searches.forEach((queue, search) -> found.put(queue, search.at()));
  }
}
