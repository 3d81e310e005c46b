package io.github.rocketwire.spark.endpoint.write;

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
  private static final int MOST_PROPERTIES = 32767;
  private static final char NAME_SEPARATOR = 1;
  private static final char ITEM_SEPARATOR = 2;
  private static final Set<String> NOT_SENDABLE = Set.of(
      "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC",
      "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "rmq_sys_wheel_timer");
  /** Properties that producers or brokers set: rows that were read have some, of the message that was read. */
  static final Set<String> OWN_NAMES = Set.of(
      "1ST_POP_TIME", "ARRIVE_TIME", "BUYER_ID", "CHECK_IMMUNITY_TIME_IN_SECONDS", "CLUSTER", "CONSUME_START_TIME",
      "CORRECTION_FLAG", "CORRELATION_ID", "DELAY", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET", "INNER_NUM",
      "INSTANCE_ID", "KEYS", "MAX_OFFSET", "MAX_RECONSUME_TIMES", "MIN_OFFSET", "MQ2_FLAG", "MSG_REGION", "MSG_TYPE", "ORIGIN_GROUP",
      "ORIGIN_MESSAGE_ID", "PGROUP", "POP_CK", "PUSH_REPLY_TIME", "REAL_QID", "REAL_TOPIC", "RECONSUME_TIME",
      "REPLY_TO_CLIENT", "RETRY_TOPIC", "TAGS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC", "TIMER_DELIVER_MS",
      "TIMER_DEL_UNIQKEY", "TIMER_DEQUEUE_MS", "TIMER_ENQUEUE_MS", "TIMER_OUT_MS", "TIMER_ROLL_TIMES", "TRACE_ON",
      "TRANSACTION_CHECK_TIMES", "TRANSFER_FLAG", "TRAN_MSG", "TRAN_PREPARED_QUEUE_OFFSET", "TTL", "UNIQ_KEY", "WAIT",
      "__STARTDELIVERTIME");

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
    StringBuilder properties = new StringBuilder("UNIQ_KEY").append(NAME_SEPARATOR).append(id);
    add(properties, "TAGS", words(row, "tags"));
    add(properties, "KEYS", words(row, "keys"));
    add(properties, "DELAY", delay > 0 ? Integer.toString(delay) : "");
    addOthers(properties, row);
    byte[] encoded = properties.toString().getBytes(StandardCharsets.UTF_8);
    if (encoded.length > MOST_PROPERTIES) {
      throw invalid(
          "a row's tags, keys and properties take " + encoded.length + " bytes, and " + MOST_PROPERTIES
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
    if (!topic.matches("[%|a-zA-Z0-9_-]+")) {
      return "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$";
    }
    boolean ofGroup = topic.startsWith("%RETRY%") || topic.startsWith("%DLQ%");
    if (topic.length() > (ofGroup ? 255 : 127)) {
      return "The specified topic is longer than topic max length.";
    }
    boolean refused = NOT_SENDABLE.contains(topic) || topic.startsWith("rmq_sys_REVIVE_LOG_");
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
      if (values[number] != null && !name.isEmpty() && !OWN_NAMES.contains(name)) {
        add(to, separate(name, "properties"), separate(values[number].toString(), "properties"));
      }
    }
  }

  private static void add(StringBuilder to, String name, String value) {
    if (!value.isEmpty()) {
      to.append(ITEM_SEPARATOR).append(name).append(NAME_SEPARATOR).append(value);
    }
  }

  private static String separate(String text, String column) {
    if (text.indexOf(NAME_SEPARATOR) >= 0 || text.indexOf(ITEM_SEPARATOR) >= 0) {
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
