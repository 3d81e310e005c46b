package io.github.rocketwire.spark.endpoint.write;

import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.request.OptionValues;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The options of a write: those of the connection, and those of sending (docs/spark.md, "Columns to write"). */
final class WriteOptions implements Serializable {
  private static final long serialVersionUID = 1;
  private static final List<String> NAMES = List.of(
      "namesrv", "accessKey", "secretKey", "endpointTimeoutMs", "topic", "retries", "maxBatchBytes", "maxMessageSize");

  final EndpointOptions endpoint;
  /** The topic of rows that name none; null: they must. */
  final String topic;
  final int retries;
  final long maxBatchBytes;
  final long maxMessageSize;

  /**
   * Parses the options of a write.
   *
   * @throws SourceException there is no such option, namesrv is missing, or a value is invalid
   */
  WriteOptions(Map<String, String> options) {
    Map<String, String> given = known(options);
    endpoint = new EndpointOptions(given);
    String named = given.getOrDefault("topic", "").strip();
    topic = named.isEmpty() ? null : named;
    retries = (int) OptionValues.whole("retries", given.getOrDefault("retries", "3"), 0, 1000);
    maxBatchBytes = OptionValues.size("maxBatchBytes", given.getOrDefault("maxBatchBytes", "1m"));
    maxMessageSize = OptionValues.size("maxMessageSize", given.getOrDefault("maxMessageSize", "4m"));
  }

  private static Map<String, String> known(Map<String, String> options) {
    Map<String, String> given = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    given.putAll(options);
    String path = given.remove("path");
    if (path != null && !path.isBlank()) {
      throw new SourceException(
          SourceException.OPTION_INVALID,
          "messages cannot be written to the path " + path,
          "Give the option namesrv, and no path");
    }
    return OptionValues.known(given, NAMES, " of writing", "checkpointlocation");
  }
}
