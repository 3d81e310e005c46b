package io.github.rocketwire.spark;

import io.github.rocketwire.spark.request.Similar;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of a message: names and types are those of the Python source ({@code spark/schema.py}). */
public final class Columns {
  public static final String CORRUPT_RECORD = "_corrupt_record";
  private static final Map<String, DataType> TYPES = new LinkedHashMap<>();

  static {
    for (String name : List.of("topic", "message_id", "offset_message_id", "born_host", "store_host", "tags", "broker",
        "file", CORRUPT_RECORD)) {
      TYPES.put(name, DataTypes.StringType);
    }
    for (String name : List.of("queue_id", "sys_flag", "flag", "reconsume_times", "body_crc", "store_size")) {
      TYPES.put(name, DataTypes.IntegerType);
    }
    for (String name : List.of("queue_offset", "prepared_transaction_offset", "physical_offset")) {
      TYPES.put(name, DataTypes.LongType);
    }
    TYPES.put("born_timestamp", DataTypes.TimestampType);
    TYPES.put("store_timestamp", DataTypes.TimestampType);
    TYPES.put("keys", DataTypes.createArrayType(DataTypes.StringType, true));
    TYPES.put("body", DataTypes.BinaryType);
    TYPES.put("properties", DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType, true));
  }

  /** All columns, in the order of the schema. */
  public static final List<String> ALL = List.of(
      "topic", "queue_id", "queue_offset", "message_id", "offset_message_id", "born_timestamp", "store_timestamp",
      "born_host", "store_host", "tags", "keys", "body", "properties", "sys_flag", "flag", "reconsume_times",
      "prepared_transaction_offset", "body_crc", "physical_offset", "store_size", "broker", "file");

  /** Columns that consume queues have, so that the log need not be read. */
  public static final Set<String> OF_QUEUES =
      Set.of("topic", "queue_id", "queue_offset", "physical_offset", "store_size", "broker", "file");

  /** Columns that columns beside a store have; the last one is null there. */
  public static final Set<String> CACHED = Set.of(
      "topic", "queue_id", "queue_offset", "physical_offset", "store_size", "broker", "file", "tags", "born_timestamp",
      "store_timestamp", CORRUPT_RECORD);

  private Columns() {}

  /** The schema of these columns, in this order. */
  public static StructType schema(Collection<String> names) {
    return new StructType(names.stream()
        .map(name -> new StructField(name, TYPES.get(name), true, Metadata.empty()))
        .toArray(StructField[]::new));
  }

  /**
   * Checks a schema that the user gave.
   *
   * @throws SourceException it has a column that does not exist, not of that type or not nullable, or one twice
   */
  public static void check(StructType schema) {
    Set<String> seen = new HashSet<>();
    for (StructField field : schema.fields()) {
      DataType type = TYPES.get(field.name());
      if (type == null) {
        String hint = Similar.to(field.name(), ALL);
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "there is no column " + field.name() + ", which schema() names",
            hint.isEmpty() ? "The columns are " + String.join(", ", ALL) : hint);
      }
      if (!type.equals(field.dataType())) {
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "column " + field.name() + " cannot be " + field.dataType().simpleString() + ", as schema() has it",
            "It is " + type.simpleString() + "; use the option columns instead of schema()");
      }
      if (!field.nullable()) {
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "column " + field.name() + " cannot be NOT NULL, as schema() has it: damaged records have nulls",
            "Let it be nullable, or use the option columns instead of schema()");
      }
      if (!seen.add(field.name())) {
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "schema() names the column " + field.name() + " twice",
            "Name each column once");
      }
    }
  }
}
