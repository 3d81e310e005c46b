package io.github.rocketwire.spark.request;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.rocketwire.spark.SourceException;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Values of options, from their texts; an error names the option. */
public final class OptionValues {
  static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private OptionValues() {}

  /**
   * The options that have these names, whose case does not matter, by their documented names; Spark's are ignored. *
   * @param of what the options are of, for the error
   * @param foreign how names of others begin, which are ignored, too
   * @throws SourceException there is another option
   */
  public static Map<String, String> known(Map<String, String> options, List<String> names, String of, String foreign) {
    Map<String, String> given = new TreeMap<>();
    options.forEach((name, text) -> {
      String lower = name.toLowerCase(Locale.ROOT);
      Optional<String> proper = names.stream().filter(name::equalsIgnoreCase).findFirst();
      if (proper.isPresent()) {
        given.put(proper.get(), text);
      } else if (!lower.startsWith(foreign) && !lower.startsWith("__") && !lower.startsWith("spark.")) {
        String hint = Similar.to(name, names);
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "there is no option " + name + of,
            hint.isEmpty() ? "docs/spark.md lists the options" : hint);
      }
    });
    return given;
  }

  static List<String> words(String option, String text) {
    List<String> found = new ArrayList<>();
    for (String word : text.split(",", -1)) {
      found.add(word.strip());
    }
    if (found.contains("") || new HashSet<>(found).size() < found.size()) {
      throw SourceException.option(option, text, "Name one or more, with a comma between two, each once");
    }
    return found;
  }

  static boolean flag(Map<String, String> given, String name, boolean otherwise) {
    String text = given.getOrDefault(name, Boolean.toString(otherwise)).strip().toLowerCase(Locale.ROOT);
    if (!text.equals("true") && !text.equals("false")) {
      throw SourceException.option(name, given.get(name), "It is true or false");
    }
    return text.equals("true");
  }

  private static Long natural(String text) {
    if (text.isEmpty() || text.length() > 19 || !text.chars().allMatch(sign -> sign >= '0' && sign <= '9')) {
      return null;
    }
    try {
      return Long.valueOf(text);
    } catch (NumberFormatException error) {
      return null;
    }
  }

  /** A whole number within bounds; an error names the option. */
  public static long whole(String option, String text, long least, long most) {
    Long number = natural(text.strip());
    if (number == null || number < least || number > most) {
      throw SourceException.option(option, text, "It is a whole number from " + least + " to " + most);
    }
    return number;
  }

  /** A number of bytes, like {@code 128m}; an error names the option. */
  public static long size(String option, String text) {
    String stripped = text.strip().toLowerCase(Locale.ROOT);
    String digits = stripped.replaceFirst("[bikmgt ]+$", "");
    String unit = stripped.substring(digits.length()).strip().replaceFirst("b$", "").replaceFirst("i$", "");
    Long number = natural(digits);
    int power = List.of("", "k", "m", "g", "t").indexOf(unit);
    if (number == null || number == 0 || power < 0) {
      throw SourceException.option(option, text, "It is a number of bytes, or one like 512k, 128m or 1g");
    }
    return number << 10 * power;
  }

  static Long moment(String option, String text) {
    if (text == null) {
      return null;
    }
    String stripped = text.strip();
    if (stripped.length() >= 11 && natural(stripped) != null) {
      return natural(stripped);
    }
    String iso = stripped.replaceFirst("^(\\d{4}-\\d{2}-\\d{2})[ t]", "$1T").replaceFirst("([+-]\\d{2})(\\d{2})$", "$1:$2");
    try {
      if (iso.length() <= 10) {
        return LocalDate.parse(iso).atStartOfDay().toInstant(ZoneOffset.UTC).toEpochMilli();
      }
      if (iso.matches(".*([zZ]|[+-]\\d{2}(:\\d{2})?)$") && iso.indexOf('T') > 0) {
        String zoned = iso.matches(".*[+-]\\d{2}$") ? iso + ":00" : iso;
        return OffsetDateTime.parse(zoned).toInstant().toEpochMilli();
      }
      return LocalDateTime.parse(iso).toInstant(ZoneOffset.UTC).toEpochMilli();
    } catch (DateTimeException | ArithmeticException error) {
      throw SourceException.option(
          option, text, "It is ISO 8601, as 2026-01-31T09:30:00+01:00, or ms since 1970 (11 digits at least)");
    }
  }

  static Options.RequestedOffsets offsets(String option, String text) {
    if (text == null) {
      return null;
    }
    String word = text.strip().toLowerCase(Locale.ROOT);
    if (word.equals("earliest") || word.equals("latest")) {
      return new Options.RequestedOffsets(word, Map.of());
    }
    try {
      JsonNode found = JSON.readTree(text);
      if (found == null || !found.isObject()) {
        throw new IllegalArgumentException();
      }
      boolean byBroker = false;
      for (JsonNode topics : found) {
        for (JsonNode queues : topics) {
          byBroker |= queues.isObject();
        }
      }
      Map<String, Map<String, Map<Integer, Long>>> table = new TreeMap<>();
      if (byBroker) {
        found.fields().forEachRemaining(entry -> table.put(entry.getKey(), topics(entry.getValue())));
      } else {
        table.put("", topics(found));
      }
      return new Options.RequestedOffsets(null, table);
    } catch (JsonProcessingException | IllegalArgumentException error) {
      throw SourceException.option(
          option,
          text,
          "It is earliest, latest, or JSON like {\"Orders\": {\"0\": 100, \"1\": 250}}, of several stores one for each"
              + " broker");
    }
  }

  private static Map<String, Map<Integer, Long>> topics(JsonNode found) {
    Map<String, Map<Integer, Long>> topics = new TreeMap<>();
    object(found).fields().forEachRemaining(topic -> {
      Map<Integer, Long> queues = new TreeMap<>();
      object(topic.getValue()).fields().forEachRemaining(queue -> {
        Long number = natural(queue.getKey());
        JsonNode offset = queue.getValue();
        if (number == null || number > Integer.MAX_VALUE || !offset.isIntegralNumber() || !offset.canConvertToLong()
            || offset.asLong() < Options.EARLIEST) {
          throw new IllegalArgumentException();
        }
        queues.put(number.intValue(), offset.asLong());
      });
      topics.put(topic.getKey(), queues);
    });
    return topics;
  }

  private static JsonNode object(JsonNode node) {
    if (!node.isObject()) {
      throw new IllegalArgumentException();
    }
    return node;
  }

  static Map<String, String> brokers(String text) {
    Map<String, String> found = new TreeMap<>();
    if (text == null) {
      return found;
    }
    try {
      object(JSON.readTree(text)).fields().forEachRemaining(entry -> {
        if (!entry.getValue().isTextual() || entry.getValue().asText().isEmpty()) {
          throw new IllegalArgumentException();
        }
        found.put(entry.getKey(), entry.getValue().asText());
      });
    } catch (JsonProcessingException | IllegalArgumentException error) {
      throw SourceException.option(
          "brokers", text, "It is JSON like {\"/data/a\": \"broker-a\", \"/data/b\": \"broker-b\"}");
    }
    if (new HashSet<>(found.values()).size() < found.size()) {
      throw SourceException.option("brokers", text, "Give each store a name of its own");
    }
    return found;
  }
}
