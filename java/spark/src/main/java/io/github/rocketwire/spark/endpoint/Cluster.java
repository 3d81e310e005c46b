package io.github.rocketwire.spark.endpoint;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.rocketwire.spark.Facts;
import java.io.Closeable;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a name server knows of its brokers and topics, and connections to them, made on demand. Of several name servers
 * the first that can be reached is queried.
 */
public final class Cluster implements Closeable {
  private static final String NAME_SERVER = "name server";

  private final EndpointOptions endpoint;
  private final List<InetSocketAddress> addresses;
  private final Map<String, Connection> brokers = new HashMap<>();
  private Connection nameServer;

  /** Connects to a name server. */
  public Cluster(EndpointOptions endpoint) throws RemotingException {
    this.endpoint = endpoint;
    this.addresses = new ArrayList<>(endpoint.addresses());
    this.nameServer = reached();
  }

  private Connection reached() throws RemotingException {
    RemotingException failure = null;
    for (InetSocketAddress address : addresses) {
      try {
        return new Connection(NAME_SERVER, address, endpoint);
      } catch (RemotingException error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** The name server that is used, as {@code name server 127.0.0.1:9876}. */
  public String what() {
    return nameServer.what;
  }

  /** The local address of the connection to the name server. */
  public byte[] ownAddress() {
    return nameServer.ownAddress();
  }

  @Override
  public void close() {
    nameServer.close();
    brokers.values().forEach(Connection::close);
  }

  /** The route of a topic: {@code queueDatas} and {@code brokerDatas}; another error means that there is none. */
  public JsonNode route(String topic) throws RemotingException {
    Map<String, String> fields = Map.of("topic", topic, "acceptStandardJsonOnly", "true");
    Connection.Answer answer = request(
        Facts.CODE_GET_ROUTEINFO_BY_TOPIC, fields, Set.of(Facts.RESPONSE_SUCCESS, Facts.RESPONSE_TOPIC_NOT_EXIST));
    if (answer.code() == Facts.RESPONSE_TOPIC_NOT_EXIST) {
      throw RemotingException.noSuchTopic(topic, nameServer.what.substring(NAME_SERVER.length() + 1));
    }
    return answer.json(nameServer.what);
  }

  /** The names of all topics, RocketMQ's own among them. */
  public Set<String> topics() throws RemotingException {
    Set<String> found = new TreeSet<>();
    JsonNode table = request(Facts.CODE_GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Map.of(), Set.of(Facts.RESPONSE_SUCCESS))
        .json(nameServer.what);
    table.path("topicList").forEach(each -> found.add(each.asText()));
    return found;
  }

  /** The connection to the broker of a name, wherever it is registered now. */
  public Connection broker(String name) throws RemotingException {
    JsonNode info = request(Facts.CODE_GET_BROKER_CLUSTER_INFO, Map.of(), Set.of(Facts.RESPONSE_SUCCESS))
        .json(nameServer.what);
    String address = address(info.path("brokerAddrTable").path(name));
    if (address == null) {
      throw RemotingException.noBroker(nameServer.what, name);
    }
    Connection found = brokers.get(address);
    if (found == null) {
      found = connect(address);
      brokers.put(address, found);
    }
    return found;
  }

  /** A new connection to a broker's address, which the caller closes. */
  public Connection connect(String text) throws RemotingException {
    InetSocketAddress address = EndpointOptions.address(text);
    if (address == null) {
      throw RemotingException.notReached("broker " + text, "the name server gave an address that is none", null);
    }
    return new Connection("broker", address, endpoint);
  }

  /** The address of a broker from a name server's answer: of its master, if there is one; null without any. */
  public static String address(JsonNode broker) {
    TreeMap<Long, String> byId = new TreeMap<>(); // 0 is the master
    broker.path("brokerAddrs").fields().forEachRemaining(
        entry -> byId.put(Long.valueOf(entry.getKey()), entry.getValue().asText()));
    return byId.isEmpty() ? null : byId.firstEntry().getValue();
  }

  private Connection.Answer request(int code, Map<String, String> fields, Set<Integer> fine) throws RemotingException {
    Connection.Answer answer = answer(code, fields);
    if (answer.code() == Facts.RESPONSE_REQUEST_CODE_NOT_SUPPORTED) {
      throw RemotingException.notReached(nameServer.what, "is no name server; a broker's address?", null);
    }
    return nameServer.checked(answer, fine);
  }

  private Connection.Answer answer(int code, Map<String, String> fields) throws RemotingException {
    RemotingException failure;
    try {
      return nameServer.request(code, fields);
    } catch (RemotingException error) {
      failure = error;
    }
    // Name servers close connections that were idle for two minutes, or one may hang: try the others first now.
    for (int count = addresses.size(); count > 0; count--) {
      nameServer.close();
      addresses.add(addresses.remove(0));
      try {
        nameServer = reached();
        return nameServer.request(code, fields);
      } catch (RemotingException error) {
        failure = error;
      }
    }
    throw failure;
  }
}
