package io.github.rocketwire.spark.endpoint.write;

import io.github.rocketwire.spark.SourceException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of frames that are written: their names and types. */
final class WriteColumns {
  private static final Map<String, String> KINDS = new LinkedHashMap<>();

  static {
    KINDS.put("topic", "string");
    KINDS.put("body", "binary or string");
    KINDS.put("tags", "string");
    KINDS.put("keys", "string or array<string>");
    KINDS.put("properties", "map<string,string>");
    KINDS.put("delay_level", "int");
    KINDS.put("queue_id", "int");
    KINDS.put("flag", "int");
  }

  private WriteColumns() {}

  /**
   * Refuses a frame whose columns are not those of messages to be sent.
   *
   * @param topic that of rows without the column; or null
   * @throws SourceException a column is missing, not known, or of a type that it cannot have
   */
  static void check(StructType schema, String topic) {
    List<String> names = Arrays.asList(schema.fieldNames());
    String select = KINDS.entrySet().stream()
        .map(each -> each.getKey() + " (" + each.getValue() + ")")
        .collect(Collectors.joining(", ", "Select some of ", ""));
    String unknown = names.stream().filter(name -> !KINDS.containsKey(name)).collect(Collectors.joining(", "));
    if (!unknown.isEmpty()) {
      throw unsupported("messages have no column " + unknown, select);
    }
    if (!names.contains("body")) {
      throw unsupported("there is no column body", select);
    }
    if (!names.contains("topic") && topic == null) {
      throw unsupported("there is neither a column topic nor an option topic", "Give one of them");
    }
    for (StructField field : schema.fields()) {
      if (!fits(field.name(), field.dataType())) {
        throw unsupported(
            "the column " + field.name() + " is " + field.dataType().simpleString(),
            "Cast it to " + KINDS.get(field.name()));
      }
    }
  }

  static SourceException unsupported(String what, String remedy) {
    return new SourceException(SourceException.WRITE_UNSUPPORTED, what, remedy);
  }

  private static boolean fits(String name, DataType type) {
    return switch (name) {
      case "delay_level", "queue_id", "flag" ->
          type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType || type instanceof LongType;
      case "properties" -> type instanceof MapType map && isText(map.keyType()) && isText(map.valueType());
      case "keys" -> type instanceof ArrayType array ? isText(array.elementType()) : isText(type);
      case "body" -> type instanceof BinaryType || isText(type);
      default -> isText(type);
    };
  }

  private static boolean isText(DataType type) {
    return type instanceof StringType;
  }
}
