package io.github.rocketwire.spark.endpoint;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.request.OptionValues;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The options of connections to an endpoint, for reads and writes (docs/spark.md, "Of endpoints"). */
public final class EndpointOptions implements Serializable {
  private static final long serialVersionUID = 1;
  /** The group that RocketMQ's own tools pull with; every broker has it, and no client commits offsets for it. */
  private static final String TOOLS_GROUP = "TOOLS_CONSUMER";

  private static final int MOST_TIMEOUT_MS = 600_000;
  private static final int MOST_PORT = 65535;

  public final String nameServers;
  final int timeoutMs;
  /** The account that signs requests; null without access control. */
  final String accessKey;
  final String secretKey;
  /** The consumer group in whose name messages are pulled. Its offsets are neither read nor changed. */
  public final String group;

  /**
   * Parses the options of the connection; others are ignored.
   *
   * @throws SourceException namesrv is missing, or a value is invalid
   */
  public EndpointOptions(Map<String, String> options) {
    Map<String, String> given = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    given.putAll(options);
    nameServers = given.getOrDefault("namesrv", "").strip();
    if (nameServers.isEmpty()) {
      throw new SourceException(
          SourceException.OPTION_INVALID,
          "the option namesrv is missing",
          "Give it the address of a name server, HOST:PORT");
    }
    addresses();
    String key = given.getOrDefault("accessKey", "");
    String secret = given.getOrDefault("secretKey", "");
    if (key.isEmpty() != secret.isEmpty()) {
      throw new SourceException(
          SourceException.OPTION_INVALID,
          "one of the options accessKey and secretKey is missing",
          "Give both, or none");
    }
    accessKey = key.isEmpty() ? null : key;
    secretKey = secret;
    group = given.getOrDefault("consumerGroup", TOOLS_GROUP);
    String problem = groupProblem(group);
    if (problem != null) {
      throw SourceException.option("consumerGroup", group, problem);
    }
    timeoutMs = (int) OptionValues.whole(
        "endpointTimeoutMs", given.getOrDefault("endpointTimeoutMs", "15000"), 1, MOST_TIMEOUT_MS);
  }

  /** What is wrong with a group's name, in the official client's words; null for a name that may be. */
  private static String groupProblem(String name) {
    if (name.isBlank()) {
      return "the specified group is blank";
    }
    if (name.length() > Facts.MAX_GROUP_LENGTH) {
      return "the specified group is longer than group max length " + Facts.MAX_GROUP_LENGTH + ".";
    }
    return name.matches(Facts.ALLOWED_CHARACTERS)
        ? null
        : "the specified group[" + name + "] contains illegal characters, allowing only " + Facts.ALLOWED_CHARACTERS;
  }

  /** The addresses of the name servers, at least one. */
  List<InetSocketAddress> addresses() {
    List<InetSocketAddress> found = new ArrayList<>();
    for (String each : nameServers.split(";")) {
      if (!each.isBlank()) {
        InetSocketAddress address = address(each);
        if (address == null) {
          throw invalid(each, "expected HOST:PORT or [IPV6]:PORT, port 0 to " + MOST_PORT);
        }
        found.add(address);
      }
    }
    if (found.isEmpty()) {
      throw invalid(nameServers, "expected HOST:PORT, several of them with ; between");
    }
    return found;
  }

  private static SourceException invalid(String text, String allowed) {
    return new SourceException(
        SourceException.OPTION_INVALID,
        "option namesrv " + text + ": " + allowed,
        "Give namesrv as HOST:PORT, several of them with ; between");
  }

  /** HOST:PORT, unresolved; null if it is not that. */
  static InetSocketAddress address(String text) {
    String stripped = text.strip();
    int colon = stripped.lastIndexOf(':');
    String host = colon < 0 ? "" : stripped.substring(0, colon);
    String port = stripped.substring(colon + 1);
    if (!port.matches("[0-9]{1,5}") || Integer.parseInt(port) > MOST_PORT) {
      return null;
    }
    if (host.matches("\\[[0-9a-fA-F:.]+]")) {
      host = host.substring(1, host.length() - 1);
    } else if (!host.matches("[^:\\[\\]\\s]+")) {
      return null;
    }
    return InetSocketAddress.createUnresolved(host, Integer.parseInt(port));
  }
}
