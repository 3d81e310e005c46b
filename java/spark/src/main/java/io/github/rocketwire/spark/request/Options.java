package io.github.rocketwire.spark.request;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** The options of a read, parsed as the Python source does (docs/spark.md). */
public final class Options implements Serializable {
  private static final long serialVersionUID = 1;

  /** How damaged records are handled. */
  public enum Mode {
    PERMISSIVE,
    DROPMALFORMED,
    FAILFAST
  }

  /** Stand for the first and the last offset of a queue. */
  public static final long EARLIEST = -2;

  public static final long LATEST = -1;

  private static final List<String> NAMES = List.of(
      "path", "paths", "namesrv", "table", "topic", "topics", "topicPattern", "queues", "startingOffsets",
      "endingOffsets", "startingTimestamp", "endingTimestamp", "columns", "columnCache", "pushFilters", "includeSystemTopics",
      "minPartitions", "maxBytesPerPartition", "maxOffsetsPerTrigger", "maxBytesPerTrigger", "mode", "failOnDataLoss",
      "decompress", "verifyChecksums", "brokers", "prefetchBytes", "accessKey", "secretKey", "endpointTimeoutMs",
      "consumerGroup");
  public List<String> paths;
  /** Addresses of the name servers of an endpoint, in place of paths; else empty. */
  public String nameServers;
  public Set<String> topics;
  public Pattern topicPattern;
  public Set<Integer> queues;
  public RequestedOffsets starting;
  public RequestedOffsets ending;
  public Long since;
  public Long until;
  public List<String> columns;
  /** Folders of columns beside stores. */
  public List<String> columnCache;
  public boolean includeSystemTopics;
  public int minPartitions;
  public long maxBytesPerPartition;
  public Long maxOffsetsPerTrigger;
  public Long maxBytesPerTrigger;
  public Mode mode;
  public boolean failOnDataLoss;
  public boolean decompress;
  public boolean verifyChecksums;
  public Map<String, String> brokers;

  /**
   * The value of startingOffsets or endingOffsets.
   *
   * @param word {@code earliest} or {@code latest}; null when there is a table
   * @param table offsets by broker (an empty name: any), topic and queue
   */
  public record RequestedOffsets(String word, Map<String, Map<String, Map<Integer, Long>>> table) implements Serializable {
    /** The requested offset of a queue; null for none. */
    public Long of(String broker, String topic, int queueId) {
      if (word != null) {
        return word.equals("earliest") ? EARLIEST : LATEST;
      }
      for (String name : new String[] {broker, ""}) {
        Long found = table.getOrDefault(name, Map.of()).getOrDefault(topic, Map.of()).get(queueId);
        if (found != null) {
          return found;
        }
      }
      return null;
    }
  }

  private Options() {}

  /**
   * Parses options, whose names are case-insensitive.
   *
   * @throws SourceException an option is unknown, missing or contradicts another, or a value is invalid
   */
  public static Options parse(Map<String, String> options) {
    Map<String, String> given = OptionValues.known(options, NAMES, "", "fs.");
    Options found = new Options();
    found.paths = paths(given);
    found.nameServers = given.getOrDefault("namesrv", "").strip();
    if (found.paths.isEmpty() == found.nameServers.isEmpty()) {
      throw new SourceException(
          SourceException.OPTION_INVALID,
          found.paths.isEmpty()
              ? "neither option path nor namesrv is given"
              : "both options path and namesrv are given",
          "Give load() the directory of a store, or the option namesrv for a running endpoint");
    }
    found.topics = new LinkedHashSet<>();
    for (String key : List.of("topic", "topics")) {
      if (given.containsKey(key)) {
        found.topics.addAll(OptionValues.words(key, given.get(key)));
      }
    }
    found.topicPattern = pattern(given);
    if (given.containsKey("queues")) {
      found.queues = new HashSet<>();
      for (String text : OptionValues.words("queues", given.get("queues"))) {
        found.queues.add((int) OptionValues.whole("queues", text, 0, Integer.MAX_VALUE));
      }
    }
    found.starting = OptionValues.offsets("startingOffsets", given.get("startingOffsets"));
    found.ending = OptionValues.offsets("endingOffsets", given.get("endingOffsets"));
    found.since = OptionValues.moment("startingTimestamp", given.get("startingTimestamp"));
    found.until = OptionValues.moment("endingTimestamp", given.get("endingTimestamp"));
    found.columns = columns(given.get("columns"));
    found.columnCache =
        given.containsKey("columnCache") ? OptionValues.words("columnCache", given.get("columnCache")) : List.of();
    OptionValues.flag(given, "pushFilters", false);
    found.includeSystemTopics = OptionValues.flag(given, "includeSystemTopics", false);
    found.minPartitions = (int) OptionValues.whole("minPartitions", given.getOrDefault("minPartitions", "1"), 1, 1 << 20);
    found.maxBytesPerPartition =
        Math.max(1024, OptionValues.size("maxBytesPerPartition", given.getOrDefault("maxBytesPerPartition", "128m")));
    if (given.containsKey("maxOffsetsPerTrigger")) {
      found.maxOffsetsPerTrigger = OptionValues.whole("maxOffsetsPerTrigger", given.get("maxOffsetsPerTrigger"), 1, Long.MAX_VALUE);
    }
    if (given.containsKey("maxBytesPerTrigger")) {
      found.maxBytesPerTrigger = OptionValues.size("maxBytesPerTrigger", given.get("maxBytesPerTrigger"));
    }
    String mode = given.getOrDefault("mode", "PERMISSIVE");
    try {
      found.mode = Mode.valueOf(mode.strip().toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException error) {
      throw SourceException.option("mode", mode, "It is PERMISSIVE, DROPMALFORMED, FAILFAST");
    }
    found.failOnDataLoss = OptionValues.flag(given, "failOnDataLoss", true);
    found.decompress = OptionValues.flag(given, "decompress", true);
    found.verifyChecksums = OptionValues.flag(given, "verifyChecksums", true);
    found.brokers = OptionValues.brokers(given.get("brokers"));
    return found;
  }

  /** Whether messages of a topic are read; light queues point to other topics' messages, and are read by name only. */
  public boolean takesTopic(String topic) {
    if (!topics.isEmpty()) {
      return topics.contains(topic);
    }
    if (topic.startsWith(Facts.LIGHT_QUEUE_PREFIX) || !includeSystemTopics && isHidden(topic)) {
      return false;
    }
    return topicPattern == null || topicPattern.matcher(topic).matches();
  }

  /** Whether a topic is one of RocketMQ's own, or has what it keeps for groups. */
  public static boolean isHidden(String topic) {
    return topic.startsWith(Facts.RETRY_PREFIX) || topic.startsWith(Facts.DEAD_LETTER_PREFIX)
        || topic.startsWith(Facts.LIGHT_QUEUE_PREFIX) || topic.startsWith(Facts.SYSTEM_TOPIC_PREFIX) || Facts.SYSTEM_TOPICS.contains(topic);
  }

  private static List<String> paths(Map<String, String> given) {
    List<String> found = new ArrayList<>();
    if (given.containsKey("paths")) {
      try {
        for (JsonNode one : OptionValues.JSON.readTree(given.get("paths"))) {
          found.add(one.textValue());
        }
      } catch (JsonProcessingException error) {
        throw SourceException.option("paths", given.get("paths"), "Give load() a list of directories");
      }
    }
    String one = given.getOrDefault("path", "").strip();
    if (!one.isEmpty()) {
      found.add(one);
    }
    return found;
  }

  private static Pattern pattern(Map<String, String> given) {
    String text = given.get("topicPattern");
    if (text == null) {
      return null;
    }
    if (given.containsKey("topic") || given.containsKey("topics")) {
      throw new SourceException(
          SourceException.OPTION_INVALID,
          "topics are given by topicPattern and by name",
          "Use topicPattern, or topic and topics");
    }
    try {
      return Pattern.compile(text.replace("(?P<", "(?<"));
    } catch (PatternSyntaxException error) {
      throw SourceException.option(
          "topicPattern", text, "It is a regular expression of Python: " + error.getDescription());
    }
  }

  private static List<String> columns(String text) {
    if (text == null) {
      return Columns.ALL;
    }
    Map<String, String> known = new HashMap<>();
    List<String> listed = new ArrayList<>(Columns.ALL);
    listed.add(Columns.CORRUPT_RECORD);
    listed.forEach(name -> known.put(name.toLowerCase(Locale.ROOT), name));
    List<String> names = new ArrayList<>();
    for (String word : OptionValues.words("columns", text)) {
      String name = known.get(word.toLowerCase(Locale.ROOT));
      if (word.equals("*")) {
        names.addAll(Columns.ALL);
      } else if (name != null) {
        names.add(name);
      } else {
        String hint = Similar.to(word, listed);
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "there is no column " + word + " (option columns)",
            hint.isEmpty() ? "The columns are " + String.join(", ", listed) : hint);
      }
    }
    if (new HashSet<>(names).size() < names.size()) {
      throw SourceException.option("columns", text, "Name each column once");
    }
    return names;
  }
}
