package io.github.rocketwire.spark.endpoint.read;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.endpoint.Cluster;
import io.github.rocketwire.spark.endpoint.Connection;
import io.github.rocketwire.spark.endpoint.RemotingException;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.stream.MessageQueue;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Queues of an endpoint: their names, their offsets, and the mean size of their messages. */
final class Queues {
  private static final Set<Integer> SUCCESS = Set.of(Facts.RESPONSE_SUCCESS);
  // For the mean size: queues sampled, messages pulled of each, and the size assumed without a sample.
  private static final int SAMPLED = 8;
  private static final int SAMPLE = 32;
  private static final int USUAL_SIZE = 1024;

  private Queues() {}

  /** The queues that a request selects. */
  static Set<MessageQueue> wanted(Cluster cluster, Request request) throws RemotingException {
    Set<String> named = request.options.topics;
    Set<MessageQueue> found = new TreeSet<>();
    for (String topic : named.isEmpty() ? cluster.topics() : named) {
      if (request.takesTopic(topic) || named.contains(topic)) {
        try {
          found.addAll(readable(cluster.route(topic), topic));
        } catch (RemotingException error) {
          // A topic that is not named may be deleted meanwhile.
          if (named.contains(topic) || error.kind != RemotingException.Kind.NO_SUCH_TOPIC) {
            throw error;
          }
        }
      }
    }
    Set<Integer> missing = new TreeSet<>(request.options.queues == null ? Set.of() : request.options.queues);
    found.forEach(queue -> missing.remove(queue.queueId()));
    if (!missing.isEmpty() && !named.isEmpty()) {
      throw new SourceException(
          SourceException.TOPIC_UNKNOWN,
          String.join(", ", named) + ": there is no queue " + missing.iterator().next() + " that can be read",
          "Check the option queues");
    }
    found.removeIf(queue -> !request.takesTopic(queue.topic()) || !request.takesQueue(queue.queueId()));
    return found;
  }

  private static List<MessageQueue> readable(JsonNode route, String topic) {
    List<MessageQueue> found = new ArrayList<>();
    for (JsonNode each : route.path("queueDatas")) {
      if ((each.path("perm").asInt() & Facts.PERMISSION_READ) != 0) {
        for (int number = 0; number < each.path("readQueueNums").asInt(); number++) {
          found.add(new MessageQueue(each.path("brokerName").asText(), topic, number));
        }
      }
    }
    return found;
  }

  /** Refuses offsets of queues that do not exist; those of topics that are not read are ignored. */
  private static void checkOffsets(Request request, Set<MessageQueue> queues) {
    Set<MessageQueue> there = new HashSet<>(queues);
    queues.forEach(queue -> there.add(new MessageQueue("", queue.topic(), queue.queueId())));
    check("startingOffsets", request.options.starting, request, there);
    check("endingOffsets", request.options.ending, request, there);
  }

  private static void check(String option, Options.RequestedOffsets offsets, Request request, Set<MessageQueue> there) {
    if (offsets == null) {
      return;
    }
    offsets.table().forEach((broker, topics) -> topics.forEach((topic, numbers) -> numbers.keySet().forEach(number -> {
      boolean read = request.takesTopic(topic) && request.takesQueue(number);
      if (read && !there.contains(new MessageQueue(broker, topic, number))) {
        String known = there.stream()
            .map(MessageQueue::broker)
            .filter(name -> !name.isEmpty())
            .distinct()
            .sorted()
            .collect(Collectors.joining(", "));
        String where = broker.isEmpty() ? "" : " of broker " + broker;
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "option " + option + " names queue " + number + " of topic " + topic + where + ", which is not there",
            "Queues that can be read are at " + (known.isEmpty() ? "no broker" : known));
      }
    })));
  }

  /** From the oldest message of each queue up to where its next one will be. */
  static Map<MessageQueue, long[]> bounds(Cluster cluster, Collection<MessageQueue> queues) throws IOException {
    Map<MessageQueue, long[]> found = new TreeMap<>();
    for (Map.Entry<String, List<MessageQueue>> entry : byBroker(queues).entrySet()) {
      Connection connection = cluster.broker(entry.getKey());
      List<MessageQueue> mine = entry.getValue();
      List<Map<String, String>> requests = mine.stream().map(Pulls::of).toList();
      List<Connection.Answer> least = connection.requestAll(Facts.CODE_GET_MIN_OFFSET, requests, SUCCESS);
      List<Connection.Answer> most = connection.requestAll(Facts.CODE_GET_MAX_OFFSET, requests, SUCCESS);
      for (int i = 0; i < mine.size(); i++) {
        long start = Math.max(0, least.get(i).number("offset"));
        found.put(mine.get(i), new long[] {start, Math.max(start, most.get(i).number("offset"))});
      }
    }
    return found;
  }

  /** The requested offsets of each queue, within those that exist now. */
  static Map<MessageQueue, long[]> requested(Cluster cluster, Request request, String group) throws IOException {
    Set<MessageQueue> queues = wanted(cluster, request);
    checkOffsets(request, queues);
    Map<MessageQueue, long[]> found = bounds(cluster, queues);
    found.replaceAll((queue, limits) -> {
      QueueKey key = new QueueKey(queue.topic(), queue.queueId());
      long[] range = Ranges.requested(request.options, queue.broker(), key, limits);
      return new long[] {
        Math.max(range[0], request.narrowed.firstOffset), Math.min(range[1], request.narrowed.endOffset)
      };
    });
    if (request.since() > -Request.FOREVER) {
      Map<MessageQueue, Long> since = TimeSearch.find(cluster, found, request.since(), group);
      found.replaceAll((queue, range) -> new long[] {Math.max(range[0], since.get(queue)), range[1]});
    }
    if (request.until() < Request.FOREVER) {
      Map<MessageQueue, Long> until = TimeSearch.find(cluster, found, request.until(), group);
      found.replaceAll((queue, range) -> new long[] {range[0], Math.min(range[1], until.get(queue))});
    }
    found.replaceAll((queue, range) -> new long[] {range[0], Math.max(range[0], range[1])});
    return found;
  }

  /** Bytes that a message of these ranges takes, as some of the longest ranges have them at their beginning. */
  static long meanSize(Cluster cluster, Map<MessageQueue, long[]> ranges, String group) throws IOException {
    List<MessageQueue> longest = ranges.keySet().stream()
        .filter(queue -> ranges.get(queue)[0] < ranges.get(queue)[1])
        .sorted((one, other) -> Long.compare(
            ranges.get(other)[1] - ranges.get(other)[0], ranges.get(one)[1] - ranges.get(one)[0]))
        .limit(SAMPLED)
        .toList();
    long size = 0;
    long count = 0;
    for (Map.Entry<String, List<MessageQueue>> entry : byBroker(longest).entrySet()) {
      List<Map<String, String>> pulls = entry.getValue().stream()
          .map(queue -> Pulls.fields(queue, ranges.get(queue)[0], SAMPLE, group))
          .toList();
      Connection connection = cluster.broker(entry.getKey());
      for (Connection.Answer answer : connection.requestAll(Facts.CODE_PULL_MESSAGE, pulls, Pulls.PULLED)) {
        if (answer.code() == Facts.RESPONSE_SUCCESS) {
          size += answer.body().length;
          count += Pulls.count(answer, SAMPLE);
        }
      }
    }
    return count == 0 ? USUAL_SIZE : Math.max(1, size / count);
  }

  static Map<String, List<MessageQueue>> byBroker(Collection<MessageQueue> queues) {
    return queues.stream().collect(Collectors.groupingBy(MessageQueue::broker, TreeMap::new, Collectors.toList()));
  }
}
