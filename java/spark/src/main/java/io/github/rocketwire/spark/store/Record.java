package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * The layout of a record of the commit log, and which bytes are one. The conditions are those of rocketwire's recovery
 * and its kernel: magic number, sizes, lengths and the own physical offset fit together, and the topic is text.
 */
public final class Record {
  public static final int V6_MORE = Facts.HOST_V6_SIZE - Facts.HOST_V4_SIZE;
  private static final int MOST_BEHIND_BODY = 2 + Facts.MAX_TOPIC_LENGTH_V2 + 2 + Facts.MAX_PROPERTIES_LENGTH;
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);

  private Record() {}

  public static int int32(byte[] data, int at) {
    return (int) INT.get(data, at);
  }

  public static long int64(byte[] data, int at) {
    return (long) LONG.get(data, at);
  }

  public static int uint16(byte[] data, int at) {
    return (short) SHORT.get(data, at) & 0xFFFF;
  }

  public static boolean isMagic(int magic) {
    return magic == Facts.RECORD_MAGIC_V1 || magic == Facts.RECORD_MAGIC_V2;
  }

  /** How many bytes the hosts make a record's head longer. */
  public static int longer(int sysFlag) {
    return ((sysFlag & Facts.SYS_FLAG_BORN_HOST_V6) == 0 ? 0 : V6_MORE)
        + ((sysFlag & Facts.SYS_FLAG_STORE_HOST_V6) == 0 ? 0 : V6_MORE);
  }

  /** Where the store time is in a record's head. */
  public static int storeTimestampAt(int sysFlag) {
    return Facts.RECORD_STORE_TIMESTAMP_AT + ((sysFlag & Facts.SYS_FLAG_BORN_HOST_V6) == 0 ? 0 : V6_MORE);
  }

  /** Where the parts of a record lie, as the check found them. */
  public static final class Parts {
    public int body;
    public int bodyLength;
    public int topic;
    public int topicLength;
    public int properties;
    public int propertiesLength;
  }

  /**
   * Why the bytes at a position are no whole record; null if they are one, with its parts.
   *
   * @param end the position behind the last byte that was read
   * @param physicalOffset where the record is in the log
   */
  public static String fault(byte[] data, int position, int end, long physicalOffset, Parts parts) {
    int size = int32(data, position);
    int magic = int32(data, position + Facts.RECORD_MAGIC_AT);
    if (!isMagic(magic) || size < Facts.RECORD_SMALLEST || size > end - position) {
      return String.format("it has the magic number %08X and the size %d", magic, size);
    }
    int version = magic == Facts.RECORD_MAGIC_V1 ? 1 : 2;
    int body = position + Facts.RECORD_BODY_AT + longer(int32(data, position + Facts.RECORD_SYS_FLAG_AT));
    if (body - position + 3 > size) {
      return "its hosts do not fit";
    }
    long own = int64(data, position + Facts.RECORD_PHYSICAL_OFFSET_AT);
    if (own != physicalOffset) {
      return "it says that it begins at " + own;
    }
    int bodyLength = int32(data, body - 4);
    int recordEnd = position + size;
    if (bodyLength < 0 || bodyLength > recordEnd - body - version - 2) {
      return "its body cannot have " + bodyLength + " bytes";
    }
    int at = body + bodyLength;
    int topicLength = version == 1 ? data[at] & 0xFF : uint16(data, at);
    int topic = at + version;
    if (topicLength > (version == 1 ? Facts.MAX_TOPIC_LENGTH_V1 : Facts.MAX_TOPIC_LENGTH_V2)
        || topic + topicLength + 2 > recordEnd) {
      return "its topic cannot have " + topicLength + " bytes";
    }
    int propertiesLength = uint16(data, topic + topicLength);
    int properties = topic + topicLength + 2;
    if (propertiesLength != recordEnd - properties || propertiesLength > Facts.MAX_PROPERTIES_LENGTH) {
      return "its properties cannot have " + propertiesLength + " bytes where " + (recordEnd - properties) + " are left";
    }
    if (!isTopic(data, topic, topicLength)) {
      return "its topic is no text";
    }
    parts.body = body;
    parts.bodyLength = bodyLength;
    parts.topic = topic;
    parts.topicLength = topicLength;
    parts.properties = properties;
    parts.propertiesLength = propertiesLength;
    return null;
  }

  private static boolean isTopic(byte[] data, int at, int length) {
    boolean ascii = true;
    for (int i = at; i < at + length; i++) {
      if (data[i] <= 0) {
        if (data[i] == 0) {
          return false;
        }
        ascii = false;
      }
    }
    if (length == 0 || ascii) {
      return length > 0;
    }
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data, at, length));
      return true;
    } catch (CharacterCodingException error) {
      return false;
    }
  }

  /** The size of the record whose head is at a position, if all lengths and offsets in it fit together; else -1. */
  public static int promisedSize(byte[] data, int position, int available, long physicalOffset) {
    if (available < Facts.RECORD_SMALLEST) {
      return -1;
    }
    int head = Facts.RECORD_BODY_AT + longer(int32(data, position + Facts.RECORD_SYS_FLAG_AT));
    if (available < head) {
      return -1;
    }
    int size = int32(data, position);
    int bodyLength = int32(data, position + head - 4);
    long behind = (long) size - head - bodyLength;
    boolean fits = isMagic(int32(data, position + Facts.RECORD_MAGIC_AT))
        && int64(data, position + Facts.RECORD_PHYSICAL_OFFSET_AT) == physicalOffset
        && bodyLength >= 0;
    return fits && behind >= 0 && behind <= MOST_BEHIND_BODY ? size : -1;
  }

  /** Store time in ms of the record that a head begins; null when it is none of that physical offset. */
  public static Long storeTime(byte[] head, long physicalOffset) {
    if (head.length < Facts.RECORD_SMALLEST
        || head.length < Facts.RECORD_BODY_AT + longer(int32(head, Facts.RECORD_SYS_FLAG_AT))
        || !isMagic(int32(head, Facts.RECORD_MAGIC_AT))
        || int64(head, Facts.RECORD_PHYSICAL_OFFSET_AT) != physicalOffset) {
      return null;
    }
    return int64(head, storeTimestampAt(int32(head, Facts.RECORD_SYS_FLAG_AT)));
  }

  /** The CRC of the body of the record that a head begins. */
  public static int bodyCrc(byte[] head) {
    return int32(head, Facts.RECORD_BODY_CRC_AT);
  }

  /** Whether the body at a place, of the record at a position, has the CRC in the record; an empty one has none. */
  public static boolean isBodyGood(byte[] data, int position, int body) {
    int length = int32(data, body - 4);
    CRC32 crc = new CRC32();
    crc.update(data, body, length);
    return length == 0 || ((int) crc.getValue() & Integer.MAX_VALUE) == int32(data, position + Facts.RECORD_BODY_CRC_AT);
  }

  /** Whether a whole record begins at a physical offset of a file. */
  public static boolean isAt(OpenFile file, long offset) throws IOException {
    byte[] head = file.read(offset, 4);
    if (head.length < 4) {
      return false;
    }
    int size = int32(head, 0);
    if (size < Facts.RECORD_SMALLEST || offset + size > file.file().end()) {
      return false;
    }
    byte[] data = file.read(offset, size);
    return data.length == size && fault(data, 0, size, offset, new Parts()) == null;
  }
}
