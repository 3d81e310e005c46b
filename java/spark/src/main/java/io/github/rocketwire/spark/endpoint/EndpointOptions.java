package io.github.rocketwire.spark.endpoint;

import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Similar;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The options of a write: those of the connection, and those of sending (docs/spark.md, "Columns to write"). */
public final class EndpointOptions implements Serializable {
  private static final long serialVersionUID = 1;
  private static final List<String> NAMES = List.of(
      "namesrv", "accessKey", "secretKey", "endpointTimeoutMs", "topic", "retries", "maxBatchBytes", "maxMessageSize");
  private static final int MOST_TIMEOUT_MS = 600_000;
  private static final int MOST_PORT = 65535;

  final String nameServers;
  final int timeoutMs;
  /** The account that signs requests; null without access control. */
  final String accessKey;
  final String secretKey;
  /** The topic of rows that name none; null: they must. */
  final String topic;
  final int retries;
  final long maxBatchBytes;
  final long maxMessageSize;

  private EndpointOptions(Map<String, String> given) {
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
    timeoutMs = (int) Options.whole(
        "endpointTimeoutMs", given.getOrDefault("endpointTimeoutMs", "15000"), 1, MOST_TIMEOUT_MS);
    String named = given.getOrDefault("topic", "").strip();
    topic = named.isEmpty() ? null : named;
    retries = (int) Options.whole("retries", given.getOrDefault("retries", "3"), 0, 1000);
    maxBatchBytes = Options.size("maxBatchBytes", given.getOrDefault("maxBatchBytes", "1m"));
    maxMessageSize = Options.size("maxMessageSize", given.getOrDefault("maxMessageSize", "4m"));
  }

  /**
   * Parses the options of a write.
   *
   * @throws SourceException there is no such option, namesrv is missing, or a value is invalid
   */
  public static EndpointOptions ofWrite(Map<String, String> options) {
    Map<String, String> given = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    options.forEach((name, text) -> {
      String lower = name.toLowerCase(Locale.ROOT);
      if (lower.equals("path")) {
        if (!text.isBlank()) {
          throw new SourceException(
              SourceException.OPTION_INVALID,
              "messages cannot be written to the path " + text,
              "Give the option namesrv, and no path");
        }
        return;
      }
      boolean sparks = lower.startsWith("__") || lower.startsWith("spark.") || lower.startsWith("checkpointlocation");
      if (NAMES.stream().noneMatch(name::equalsIgnoreCase) && !sparks) {
        String hint = Similar.to(name, NAMES);
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "there is no option " + name + " of writing",
            hint.isEmpty() ? "docs/spark.md lists the options" : hint);
      }
      given.put(name, text);
    });
    return new EndpointOptions(given);
  }

  /** The addresses of the name servers, at least one. */
  List<InetSocketAddress> addresses() {
    List<InetSocketAddress> found = new ArrayList<>();
    for (String each : nameServers.split(";")) {
      if (!each.isBlank()) {
        InetSocketAddress address = address(each);
        if (address == null) {
          throw invalid(each, "allowed is HOST:PORT or [IPV6]:PORT, port 0 to " + MOST_PORT);
        }
        found.add(address);
      }
    }
    if (found.isEmpty()) {
      throw invalid(nameServers, "allowed is HOST:PORT, several of them with ; between");
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
