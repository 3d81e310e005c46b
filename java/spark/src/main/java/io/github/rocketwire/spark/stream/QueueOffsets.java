package io.github.rocketwire.spark.stream;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.rocketwire.spark.SourceException;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * The progress of a stream: the next offset of each queue. In a checkpoint it is the JSON that the Python source writes,
 * to the letter, so that a stream may continue with the other source.
 */
public final class QueueOffsets extends Offset {
  /** What identifies a message, also among those of other stores. */
  public record LastRead(long physicalOffset, long storeTimestamp, int bodyCrc) {}

  /** Beside the topics of a broker: no topic has such a name. */
  private static final String LAST = "@last";

  private static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static final String REMEDY = "It is that of another source, or damaged; begin with a new checkpointLocation";

  public final Map<MessageQueue, Long> offsets;

  /** Of each broker the newest message that was read of its store; checkpoints of before have none. */
  final Map<String, LastRead> last;

  QueueOffsets(Map<MessageQueue, Long> offsets, Map<String, LastRead> last) {
    this.offsets = new TreeMap<>(offsets);
    this.last = Map.copyOf(last);
  }

  /**
   * Parses an offset of a checkpoint.
   *
   * @throws SourceException it is none
   */
  static QueueOffsets parse(String json) {
    Map<MessageQueue, Long> found = new TreeMap<>();
    Map<String, LastRead> last = new HashMap<>();
    try {
      object(JSON.readTree(json)).fields().forEachRemaining(broker -> object(broker.getValue())
          .fields()
          .forEachRemaining(topic -> object(topic.getValue()).fields().forEachRemaining(queue -> {
            if (topic.getKey().equals(LAST)) {
              last.computeIfAbsent(broker.getKey(), name -> message(topic.getValue()));
              return;
            }
            JsonNode offset = queue.getValue();
            if (!offset.isIntegralNumber() || !offset.canConvertToLong() || offset.asLong() < 0) {
              throw new IllegalArgumentException(offset + " is no offset");
            }
            found.put(
                new MessageQueue(broker.getKey(), topic.getKey(), Integer.parseUnsignedInt(queue.getKey())),
                offset.asLong());
          })));
    } catch (JsonProcessingException | IllegalArgumentException error) {
      throw new SourceException(
          SourceException.OPTION_INVALID,
          "the checkpoint's offsets cannot be read: " + error.getMessage(),
          REMEDY);
    }
    return new QueueOffsets(found, last);
  }

  private static LastRead message(JsonNode node) {
    JsonNode place = node.path("physical_offset");
    JsonNode time = node.path("store_timestamp");
    JsonNode crc = node.path("body_crc");
    if (!place.isIntegralNumber() || !time.isIntegralNumber() || !crc.canConvertToInt()) {
      throw new IllegalArgumentException(node + " is no message");
    }
    return new LastRead(place.asLong(), time.asLong(), crc.asInt());
  }

  private static JsonNode object(JsonNode node) {
    if (node == null || !node.isObject()) {
      throw new IllegalArgumentException(node + " is no table");
    }
    return node;
  }

  @Override
  public String json() {
    StringBuilder text = new StringBuilder("{");
    MessageQueue last = null;
    for (Map.Entry<MessageQueue, Long> entry : offsets.entrySet()) {
      MessageQueue queue = entry.getKey();
      boolean sameBroker = last != null && last.broker().equals(queue.broker());
      if (!sameBroker) {
        text.append(last == null ? "" : "}}, ");
        quote(queue.broker(), text);
        text.append(": {");
        LastRead read = this.last.get(queue.broker());
        if (read != null) {
          text.append(String.format(
              "\"%s\": {\"physical_offset\": %d, \"store_timestamp\": %d, \"body_crc\": %d}, ",
              LAST, read.physicalOffset(), read.storeTimestamp(), read.bodyCrc()));
        }
      }
      if (sameBroker && last.topic().equals(queue.topic())) {
        text.append(", ");
      } else {
        text.append(sameBroker ? "}, " : "");
        quote(queue.topic(), text);
        text.append(": {");
      }
      text.append('"').append(queue.queueId()).append("\": ").append(entry.getValue());
      last = queue;
    }
    return text.append(last == null ? "}" : "}}}").toString();
  }

  /** A text as Python's json.dumps writes it: in ASCII. */
  private static void quote(String value, StringBuilder text) {
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      char sign = value.charAt(i);
      switch (sign) {
        case '"' -> text.append("\\\"");
        case '\\' -> text.append("\\\\");
        case '\n' -> text.append("\\n");
        case '\r' -> text.append("\\r");
        case '\t' -> text.append("\\t");
        case '\b' -> text.append("\\b");
        case '\f' -> text.append("\\f");
        default -> {
          if (sign < ' ' || sign > '~') {
            text.append(String.format("\\u%04x", (int) sign));
          } else {
            text.append(sign);
          }
        }
      }
    }
    text.append('"');
  }
}
