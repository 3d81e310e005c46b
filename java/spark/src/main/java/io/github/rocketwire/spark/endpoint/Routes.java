package io.github.rocketwire.spark.endpoint;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.rocketwire.spark.SourceException;
import java.io.Closeable;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The writable queues of topics, and the brokers' addresses, from the first name server that answers. */
final class Routes implements Closeable {
  private static final int GET_ROUTE = 105;
  private static final int SUCCESS = 0;
  private static final int CODE_NOT_SUPPORTED = 3;
  private static final int WRITE = 2; // bit of a queue's permission
  static final String MODEL = "TBW102";
  static final int MODEL_QUEUES = 4;

  /** A queue that takes messages. */
  record Target(String broker, int queueId) {}

  private final EndpointOptions endpoint;
  private final List<InetSocketAddress> addresses;
  private final Map<String, List<Target>> queues = new HashMap<>();
  private final Map<String, Integer> next = new HashMap<>();
  private final Set<String> stale = new HashSet<>();
  private final Map<String, String> brokers = new HashMap<>();
  private final int first;
  private Connection nameServer;

  /**
   * Connects.
   *
   * @param first where to begin in each topic, so that the tasks of a job do not all begin at the same queue
   */
  Routes(EndpointOptions endpoint, int first) throws RemotingException {
    this.endpoint = endpoint;
    this.first = first;
    this.addresses = new ArrayList<>(endpoint.addresses());
    this.nameServer = reached();
  }

  private Connection reached() throws RemotingException {
    RemotingException failure = null;
    for (InetSocketAddress address : addresses) {
      try {
        return new Connection("name server", address, endpoint);
      } catch (RemotingException error) {
        failure = error;
      }
    }
    throw failure;
  }

  byte[] ownAddress() {
    return nameServer.ownAddress();
  }

  @Override
  public void close() {
    nameServer.close();
  }

  /** Asks for a topic's queues again at their next use; if that fails, the known ones are used. */
  void renew(String topic) {
    stale.add(topic);
  }

  /** A new connection to a broker, where it is registered by what is known. */
  Connection connect(String broker) throws RemotingException {
    String text = brokers.get(broker);
    if (text == null) {
      throw RemotingException.noBroker(nameServer.what, broker);
    }
    InetSocketAddress address = EndpointOptions.address(text);
    if (address == null) {
      throw RemotingException.notReached("broker " + text, "the name server gave an address that is none", null);
    }
    return new Connection("broker", address, endpoint);
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
      found = asked(topic);
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

  private List<Target> asked(String topic) throws RemotingException {
    JsonNode route;
    int most = Integer.MAX_VALUE;
    try {
      route = route(topic);
    } catch (RemotingException error) {
      if (error.kind != RemotingException.Kind.NO_SUCH_TOPIC) {
        throw error;
      }
      // The broker creates the topic like this one with its first message, if that is allowed.
      most = MODEL_QUEUES;
      try {
        route = route(MODEL);
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
      TreeMap<Long, String> byId = new TreeMap<>(); // 0 is the master
      each.path("brokerAddrs").fields().forEachRemaining(
          entry -> byId.put(Long.valueOf(entry.getKey()), entry.getValue().asText()));
      if (!byId.isEmpty()) {
        brokers.put(each.path("brokerName").asText(), byId.firstEntry().getValue());
      }
    }
    List<Target> found = new ArrayList<>();
    for (JsonNode each : route.path("queueDatas")) {
      if ((each.path("perm").asInt() & WRITE) != 0) {
        int count = Math.min(most, each.path("writeQueueNums").asInt());
        for (int number = 0; number < count; number++) {
          found.add(new Target(each.path("brokerName").asText(), number));
        }
      }
    }
    found.sort(Comparator.comparing(Target::broker).thenComparingInt(Target::queueId));
    return found;
  }

  private JsonNode route(String topic) throws RemotingException {
    Connection.Answer answer = ask(Map.of("topic", topic, "acceptStandardJsonOnly", "true"));
    if (answer.code() == RemotingException.TOPIC_NOT_EXIST) {
      throw RemotingException.noSuchTopic(topic, nameServer.what.substring("name server ".length()));
    }
    if (answer.code() == CODE_NOT_SUPPORTED) {
      throw RemotingException.notReached(nameServer.what, "is no name server; a broker's address?", null);
    }
    if (answer.code() != SUCCESS) {
      throw RemotingException.refused(nameServer.what, answer.code(), answer.remark());
    }
    return answer.json(nameServer.what);
  }

  private Connection.Answer ask(Map<String, String> fields) throws RemotingException {
    RemotingException failure;
    try {
      return nameServer.ask(GET_ROUTE, fields);
    } catch (RemotingException error) {
      failure = error;
    }
    // Name servers close connections that were idle for two minutes, or one may hang: try the others first now.
    for (int count = addresses.size(); count > 0; count--) {
      nameServer.close();
      addresses.add(addresses.remove(0));
      try {
        nameServer = reached();
        return nameServer.ask(GET_ROUTE, fields);
      } catch (RemotingException error) {
        failure = error;
      }
    }
    throw failure;
  }
}
