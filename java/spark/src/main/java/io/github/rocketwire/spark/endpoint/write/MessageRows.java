package io.github.rocketwire.spark.endpoint.write;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Makes messages of rows, and refuses rows that cannot be sent. */
final class MessageRows {

  private final Map<String, Integer> columns = new HashMap<>();
  private final Map<String, DataType> types = new HashMap<>();
  private final WriteOptions options;
  private final Set<String> fine = new HashSet<>(); // topics whose names were checked

  MessageRows(StructType schema, WriteOptions options) {
    this.options = options;
    for (int number = 0; number < schema.length(); number++) {
      columns.put(schema.fields()[number].name(), number);
      types.put(schema.fields()[number].name(), schema.fields()[number].dataType());
    }
  }

  /**
   * The message of a row.
   *
   * @param id its unique key
   * @throws SourceException it cannot be sent
   */
  Message message(InternalRow row, String id) {
    String topic = topic(row);
    byte[] body = body(row);
    int queueId = (int) whole(row, "queue_id", -1, 0);
    int delay = (int) whole(row, "delay_level", 0, 0);
    int flag = (int) whole(row, "flag", 0, Integer.MIN_VALUE);
    StringBuilder properties = new StringBuilder(Facts.PROPERTY_UNIQ_KEY).append(Facts.NAME_SEP).append(id);
    add(properties, Facts.PROPERTY_TAGS, words(row, "tags"));
    add(properties, Facts.PROPERTY_KEYS, words(row, "keys"));
    add(properties, Facts.PROPERTY_DELAY, delay > 0 ? Integer.toString(delay) : "");
    addOthers(properties, row);
    byte[] encoded = properties.toString().getBytes(StandardCharsets.UTF_8);
    if (encoded.length > Facts.MAX_PROPERTIES_LENGTH) {
      throw invalid(
          "a row's tags, keys and properties take " + encoded.length + " bytes, and " + Facts.MAX_PROPERTIES_LENGTH
              + " are allowed",
          "Shorten them, or put them into the body");
    }
    return new Message(topic, queueId, delay > 0, body, encoded, flag);
  }

  private String topic(InternalRow row) {
    UTF8String text = text(row, "topic");
    String topic = text == null ? options.topic : text.toString();
    if (topic == null) {
      throw invalid("a row has no topic", "Fill the column topic, or give the option topic");
    }
    if (!fine.contains(topic)) {
      String problem = problem(topic);
      if (problem != null) {
        String shown = topic.length() > 200 ? topic.substring(0, 200) : topic;
        throw invalid("messages cannot be sent to the topic '" + shown + "': " + problem, "Rename the topic");
      }
      fine.add(topic);
    }
    return topic;
  }

  private static String problem(String topic) {
    if (topic.isBlank()) {
      return "The specified topic is blank.";
    }
    if (!topic.matches(Facts.ALLOWED_CHARACTERS)) {
      return "The specified topic contains illegal characters, allowing only " + Facts.ALLOWED_CHARACTERS;
    }
    boolean ofGroup = topic.startsWith(Facts.RETRY_PREFIX) || topic.startsWith(Facts.DEAD_LETTER_PREFIX);
    if (topic.length() > (ofGroup ? Facts.MAX_RETRY_TOPIC_LENGTH : Facts.MAX_TOPIC_LENGTH)) {
      return "The specified topic is longer than topic max length.";
    }
    boolean refused = Facts.SEND_FORBIDDEN_TOPICS.contains(topic) || topic.startsWith(Facts.REVIVE_TOPIC_PREFIX);
    return refused ? "Sending message to topic[" + topic + "] is forbidden." : null;
  }

  private byte[] body(InternalRow row) {
    int column = columns.get("body");
    if (row.isNullAt(column)) {
      throw invalid("a row has no body", "Filter such rows out, or fill the column body");
    }
    byte[] body = types.get("body") instanceof BinaryType
        ? row.getBinary(column).clone() // the row's buffer may be used again
        : row.getUTF8String(column).getBytes().clone();
    if (body.length == 0) {
      throw invalid("a row has a body of 0 bytes, which RocketMQ's clients do not send", "Filter such rows out");
    }
    if (body.length > options.maxMessageSize) {
      throw invalid(
          "a row has a body of " + body.length + " bytes, and " + options.maxMessageSize + " are allowed",
          "Where the broker's maxMessageSize allows more, so may the option maxMessageSize");
    }
    return body;
  }

  private long whole(InternalRow row, String name, long missing, long least) {
    Integer column = columns.get(name);
    if (column == null || row.isNullAt(column)) {
      return missing;
    }
    DataType type = types.get(name);
    long found;
    if (type instanceof ByteType) {
      found = row.getByte(column);
    } else if (type instanceof ShortType) {
      found = row.getShort(column);
    } else {
      found = type instanceof IntegerType ? row.getInt(column) : row.getLong(column);
    }
    if (found < least || found > Integer.MAX_VALUE) {
      throw invalid(
          "a row has " + found + " in the column " + name,
          "It is null, or from " + least + " to " + Integer.MAX_VALUE);
    }
    return found;
  }

  /** Tags or keys as one text; empty where there are none. */
  private String words(InternalRow row, String name) {
    Integer column = columns.get(name);
    if (column == null || row.isNullAt(column)) {
      return "";
    }
    String found;
    if (types.get(name) instanceof ArrayType) {
      ArrayData array = row.getArray(column);
      StringJoiner joined = new StringJoiner(" ");
      for (int number = 0; number < array.numElements(); number++) {
        if (!array.isNullAt(number) && array.getUTF8String(number).numBytes() > 0) {
          joined.add(array.getUTF8String(number).toString());
        }
      }
      found = joined.toString();
    } else {
      found = row.getUTF8String(column).toString();
    }
    return separate(found, name);
  }

  private void addOthers(StringBuilder to, InternalRow row) {
    Integer column = columns.get("properties");
    if (column == null || row.isNullAt(column)) {
      return;
    }
    MapData map = row.getMap(column);
    Object[] names = map.keyArray().toObjectArray(DataTypes.StringType);
    Object[] values = map.valueArray().toObjectArray(DataTypes.StringType);
    for (int number = 0; number < names.length; number++) {
      String name = names[number].toString();
      if (values[number] != null && !name.isEmpty() && !Facts.OWN_PROPERTIES.contains(name)) {
        add(to, separate(name, "properties"), separate(values[number].toString(), "properties"));
      }
    }
  }

  private static void add(StringBuilder to, String name, String value) {
    if (!value.isEmpty()) {
      to.append(Facts.ITEM_SEP).append(name).append(Facts.NAME_SEP).append(value);
    }
  }

  private static String separate(String text, String column) {
    if (text.indexOf(Facts.NAME_SEP) >= 0 || text.indexOf(Facts.ITEM_SEP) >= 0) {
      String shown = text.length() > 100 ? text.substring(0, 100) : text;
      throw invalid(
          "the column " + column + " has a text with 0x01 or 0x02, which separate properties: '" + shown + "'",
          "Replace them");
    }
    return text;
  }

  private UTF8String text(InternalRow row, String name) {
    Integer column = columns.get(name);
    return column == null || row.isNullAt(column) ? null : row.getUTF8String(column);
  }

  private static SourceException invalid(String what, String remedy) {
    return new SourceException(SourceException.MESSAGE_INVALID, what, remedy);
  }
}
