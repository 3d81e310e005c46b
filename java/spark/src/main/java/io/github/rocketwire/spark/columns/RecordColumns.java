package io.github.rocketwire.spark.columns;

import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.store.Record;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The columns of the records in a buffer. They are views of it: a value is decoded when Spark reads it, and no value is
 * copied but bodies. So they are valid until the buffer is filled again, as Spark allows.
 */
public final class RecordColumns {
  private static final byte[] TAGS = Facts.PROPERTY_TAGS.getBytes(StandardCharsets.US_ASCII);
  private static final byte[] KEYS = Facts.PROPERTY_KEYS.getBytes(StandardCharsets.US_ASCII);
  private static final byte[] UNIQ_KEY = Facts.PROPERTY_UNIQ_KEY.getBytes(StandardCharsets.US_ASCII);
  private static final long SPACES = Bytes.wordOf(' ');

  final byte[] data;
  final int count;
  final int[] position;
  final int[] body;
  final int[] topic;
  final int[] topicLength;
  final int[] properties;
  /** Bodies that were compressed; null without any. */
  final byte[][] inflated;
  /** Whether the map of all properties is among the columns; then all of them come from {@link #items}. */
  private boolean mapped;
  /** All properties; null until the first is read. */
  private Items items;

  public RecordColumns(
      byte[] data, int count, int[] position, int[] body, int[] topic, int[] topicLength, int[] properties,
      byte[][] inflated) {
    this.data = data;
    this.count = count;
    this.position = position;
    this.body = body;
    this.topic = topic;
    this.topicLength = topicLength;
    this.properties = properties;
    this.inflated = inflated;
  }

  /** A column by its name. */
  public ColumnVector of(String name, UTF8String broker, UTF8String file) {
    return switch (name) {
      case "queue_id" -> new Int32(position, Facts.RECORD_QUEUE_ID_AT);
      case "flag" -> new Int32(position, Facts.RECORD_FLAG_AT);
      case "sys_flag" -> new Int32(position, Facts.RECORD_SYS_FLAG_AT);
      case "body_crc" -> new Int32(position, Facts.RECORD_BODY_CRC_AT);
      case "store_size" -> new Int32(position, 0);
      case "reconsume_times" -> new Int32(body, Facts.RECORD_RECONSUME_TIMES_AT - Facts.RECORD_BODY_AT);
      case "queue_offset" -> new Int64(position, Facts.RECORD_QUEUE_OFFSET_AT);
      case "physical_offset" -> new Int64(position, Facts.RECORD_PHYSICAL_OFFSET_AT);
      case "prepared_transaction_offset" -> new Int64(body, Facts.RECORD_PREPARED_TRANSACTION_OFFSET_AT - Facts.RECORD_BODY_AT);
      case "born_timestamp" -> new Time(false);
      case "store_timestamp" -> new Time(true);
      case "born_host" -> new Host(false);
      case "store_host" -> new Host(true);
      case "topic" -> new Topic();
      case "tags" -> new Property(TAGS);
      case "message_id" -> new MessageId();
      case "offset_message_id" -> new OffsetId();
      case "keys" -> new Keys();
      case "properties" -> {
        mapped = true;
        yield new AllProperties();
      }
      case "body" -> new Body();
      case "broker" -> new Constant(broker);
      case "file" -> new Constant(file);
      case Columns.CORRUPT_RECORD -> new Constant(null);
      default -> throw new IllegalArgumentException(name);
    };
  }

  private int sysFlag(int row) {
    return Record.int32(data, position[row] + Facts.RECORD_SYS_FLAG_AT);
  }

  private int end(int row) {
    return position[row] + Record.int32(data, position[row]);
  }

  /** Where the value of a property begins, in the high half, and ends; -1 without one. */
  private long property(int row, byte[] name) {
    return mapped ? items().find(row, name) : Properties.find(data, properties[row], end(row), name);
  }

  /** The text of a property that was found. */
  private UTF8String text(long found) {
    int begin = (int) (found >> 32);
    int end = (int) found;
    return isAscii() ? UTF8String.fromBytes(data, begin, end - begin) : Utf8.text(data, begin, end);
  }

  /** Whether all properties are known to be ASCII. */
  private boolean isAscii() {
    return items != null && items.areAscii();
  }

  private Items items() {
    if (items == null) {
      int[] stops = new int[count];
      for (int row = 0; row < count; row++) {
        stops[row] = end(row);
      }
      items = new Items(data, properties, stops);
    }
    return items;
  }

  private final class Int32 extends Vector {
    private final int[] from;
    private final int at;

    Int32(int[] from, int at) {
      super(DataTypes.IntegerType);
      this.from = from;
      this.at = at;
    }

    @Override
    public int getInt(int row) {
      return Record.int32(data, from[row] + at);
    }
  }

  private final class Int64 extends Vector {
    private final int[] from;
    private final int at;

    Int64(int[] from, int at) {
      super(DataTypes.LongType);
      this.from = from;
      this.at = at;
    }

    @Override
    public long getLong(int row) {
      return Record.int64(data, from[row] + at);
    }
  }

  private final class Time extends Vector {
    private final boolean stored;

    Time(boolean stored) {
      super(DataTypes.TimestampType);
      this.stored = stored;
    }

    @Override
    public long getLong(int row) {
      int at = stored ? Record.storeTimestampAt(sysFlag(row)) : Facts.RECORD_BORN_TIMESTAMP_AT;
      long ms = Record.int64(data, position[row] + at);
      return Computed.microseconds(ms);
    }
  }

  private abstract static class Text extends Vector {
    Text() {
      super(DataTypes.StringType);
    }
  }

  /** Few hosts of IPv4 send most messages: the texts of some are kept. */
  private final class Host extends Text {
    private static final int KEPT_BITS = 8;
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private final boolean stored;
    private final long[] hosts = new long[1 << KEPT_BITS];
    private final UTF8String[] texts = new UTF8String[1 << KEPT_BITS];

    Host(boolean stored) {
      this.stored = stored;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      int sysFlag = sysFlag(row);
      int at = stored ? Record.storeTimestampAt(sysFlag) + 8 : Facts.RECORD_BORN_HOST_AT;
      int place = position[row] + at;
      if ((sysFlag & (stored ? Facts.SYS_FLAG_STORE_HOST_V6 : Facts.SYS_FLAG_BORN_HOST_V6)) != 0) {
        return Hosts.text(data, place, true);
      }
      long host = Record.int64(data, place);
      int kept = (int) (host * SPREAD >>> Long.SIZE - KEPT_BITS);
      if (texts[kept] == null || hosts[kept] != host) {
        texts[kept] = Hosts.text(data, place, false);
        hosts[kept] = host;
      }
      return texts[kept];
    }
  }

  private final class Topic extends Text {
    @Override
    public UTF8String getUTF8String(int row) {
      return UTF8String.fromBytes(data, topic[row], topicLength[row]);
    }
  }

  private final class OffsetId extends Text {
    @Override
    public UTF8String getUTF8String(int row) {
      return Hosts.offsetId(data, position[row]);
    }
  }

  private final class MessageId extends Text {
    @Override
    public UTF8String getUTF8String(int row) {
      long found = property(row, UNIQ_KEY);
      return found < 0 ? Hosts.offsetId(data, position[row]) : text(found);
    }
  }

  private final class Property extends Text {
    private final byte[] name;
    private int row = -1;
    private long found;

    Property(byte[] name) {
      this.name = name;
    }

    private long find(int number) {
      if (number != row) {
        row = number;
        found = property(row, name);
      }
      return found;
    }

    @Override
    public boolean hasNull() {
      return true;
    }

    @Override
    public int numNulls() {
      int nulls = 0;
      for (int i = 0; i < count; i++) {
        nulls += isNullAt(i) ? 1 : 0;
      }
      return nulls;
    }

    @Override
    public boolean isNullAt(int number) {
      return find(number) < 0;
    }

    @Override
    public UTF8String getUTF8String(int number) {
      return text(find(number));
    }
  }

  private final class Body extends Vector {
    Body() {
      super(DataTypes.BinaryType);
    }

    @Override
    public byte[] getBinary(int row) {
      if (inflated != null && inflated[row] != null) {
        return inflated[row];
      }
      return Arrays.copyOfRange(data, body[row], body[row] + Record.int32(data, body[row] - 4));
    }
  }

  private static final class Constant extends Text {
    private final UTF8String value;

    Constant(UTF8String value) {
      this.value = value;
    }

    @Override
    public boolean hasNull() {
      return value == null;
    }

    @Override
    public boolean isNullAt(int row) {
      return value == null;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return value;
    }
  }

  /** The words of the keys; found when the first are read. */
  private final class Keys extends Vector {
    private Spans words;
    private int[] rowEnds;

    Keys() {
      super(DataTypes.createArrayType(DataTypes.StringType, true));
    }

    @Override
    public ColumnarArray getArray(int row) {
      if (words == null) {
        find();
      }
      int from = row == 0 ? 0 : rowEnds[row - 1];
      return new ColumnarArray(words, from, rowEnds[row] - from);
    }

    private void find() {
      rowEnds = new int[count];
      int[] begins = new int[2 * count];
      int[] ends = new int[2 * count];
      int used = 0;
      for (int row = 0; row < count; row++) {
        long found = property(row, KEYS);
        int end = (int) found;
        for (int at = found < 0 ? end : (int) (found >> 32); at < end; ) {
          int stop = Bytes.next(data, at, end, SPACES);
          if (stop > at) {
            if (used == begins.length) {
              begins = Arrays.copyOf(begins, 2 * used);
              ends = Arrays.copyOf(ends, 2 * used);
            }
            begins[used] = at;
            ends[used++] = stop;
          }
          at = stop + 1;
        }
        rowEnds[row] = used;
      }
      words = new Spans(data, begins, ends, 0, isAscii());
    }
  }

  /** All properties. */
  private final class AllProperties extends Vector {
    AllProperties() {
      super(DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType, true));
    }

    @Override
    public ColumnarMap getMap(int row) {
      return items().map(row);
    }
  }
}
