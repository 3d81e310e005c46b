package io.github.rocketwire.spark.endpoint.write;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.endpoint.Cluster;
import io.github.rocketwire.spark.endpoint.Connection;
import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.endpoint.RemotingException;
import java.io.Closeable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The writable queues of topics, and the brokers' addresses, from the first name server that answers. */
final class Routes implements Closeable {
  static final int MODEL_QUEUES = 4;

  /** A queue that takes messages. */
  record Target(String broker, int queueId) {}

  private final Cluster cluster;
  private final Map<String, List<Target>> queues = new HashMap<>();
  private final Map<String, Integer> next = new HashMap<>();
  private final Set<String> stale = new HashSet<>();
  private final Map<String, String> brokers = new HashMap<>();
  private final int first;

  /**
   * Connects.
   *
   * @param first where to begin in each topic, so that the tasks of a job do not all begin at the same queue
   */
  Routes(EndpointOptions endpoint, int first) throws RemotingException {
    this.cluster = new Cluster(endpoint);
    this.first = first;
  }

  byte[] ownAddress() {
    return cluster.ownAddress();
  }

  @Override
  public void close() {
    cluster.close();
  }

  /** Queries a topic's queues again at their next use; if that fails, the known ones are used. */
  void renew(String topic) {
    stale.add(topic);
  }

  /** A new connection to a broker, where it is registered by what is known. */
  Connection connect(String broker) throws RemotingException {
    String text = brokers.get(broker);
    if (text == null) {
      throw RemotingException.noBroker(cluster.what(), broker);
    }
    return cluster.connect(text);
  }

  /**
   * The next queue of a topic, on another broker than the one to be avoided if there is one.
   *
   * @param queueId the queue that was named; -1 for any
   * @throws SourceException there is no such topic or queue, and none is made
   */
  Target choose(String topic, int queueId, String avoided) throws RemotingException {
    List<Target> found = all(topic);
    if (queueId >= 0) {
      found = found.stream().filter(each -> each.queueId == queueId).toList();
      if (found.isEmpty()) {
        throw new SourceException(
            SourceException.TOPIC_UNKNOWN,
            "topic " + topic + " has no queue " + queueId + " that takes messages",
            "Leave the column queue_id null, or give the topic more queues");
      }
    }
    int number = next.getOrDefault(topic, first);
    next.put(topic, number + 1);
    List<Target> others = found.stream().filter(each -> !each.broker.equals(avoided)).toList();
    List<Target> among = others.isEmpty() ? found : others;
    return among.get(Math.floorMod(number, among.size()));
  }

  private List<Target> all(String topic) throws RemotingException {
    List<Target> known = queues.get(topic);
    if (known != null && !stale.contains(topic)) {
      return known;
    }
    stale.remove(topic);
    List<Target> found;
    try {
      found = query(topic);
    } catch (RemotingException | SourceException error) {
      // The broker may be restarting, with its name server or the route that it registers.
      if (known == null) {
        throw error;
      }
      return known;
    }
    if (found.isEmpty()) {
      throw new SourceException(
          SourceException.TOPIC_UNKNOWN,
          "topic " + topic + " has no queue that takes messages",
          "Give it queues, or the permission to be written");
    }
    queues.put(topic, found);
    return found;
  }

  private List<Target> query(String topic) throws RemotingException {
    JsonNode route;
    int most = Integer.MAX_VALUE;
    try {
      route = cluster.route(topic);
    } catch (RemotingException error) {
      if (error.kind != RemotingException.Kind.NO_SUCH_TOPIC) {
        throw error;
      }
      // The broker creates the topic like this one with its first message, if that is allowed.
      most = MODEL_QUEUES;
      try {
        route = cluster.route(Facts.AUTO_CREATE_TOPIC);
      } catch (RemotingException none) {
        if (none.kind != RemotingException.Kind.NO_SUCH_TOPIC) {
          throw none;
        }
        throw new SourceException(
            SourceException.TOPIC_UNKNOWN,
            error.getMessage(),
            "Create it, or let brokers make topics by themselves (autoCreateTopicEnable)");
      }
    }
    for (JsonNode each : route.path("brokerDatas")) {
      String address = Cluster.address(each);
      if (address != null) {
        brokers.put(each.path("brokerName").asText(), address);
      }
    }
    List<Target> found = new ArrayList<>();
    for (JsonNode each : route.path("queueDatas")) {
      if ((each.path("perm").asInt() & Facts.PERMISSION_WRITE) != 0) {
        int count = Math.min(most, each.path("writeQueueNums").asInt());
        for (int number = 0; number < count; number++) {
          found.add(new Target(each.path("brokerName").asText(), number));
        }
      }
    }
    found.sort(Comparator.comparing(Target::broker).thenComparingInt(Target::queueId));
    return found;
  }
}
