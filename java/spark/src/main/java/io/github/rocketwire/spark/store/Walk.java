package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;

/** The consecutive whole records in a buffer from a position on, and why they end. */
public final class Walk {
  /** Why a walk ended. */
  public enum Stop {
    MORE,
    BLANK,
    UNWRITTEN,
    DAMAGED,
    FULL
  }

  /** In place of a physical offset: records of any are taken, as an endpoint sends them. */
  public static final long ANYWHERE = Long.MIN_VALUE;

  /** Records that are taken at once. */
  public static final int MOST = 32_768;

  public int[] position = new int[1024];
  public int[] body = new int[1024];
  public int[] topic = new int[1024];
  public int[] topicLength = new int[1024];
  public int[] properties = new int[1024];
  public int count;
  public int next;
  public Stop stop;
  public String reason;
  private final Record.Parts parts = new Record.Parts();

  /**
   * Fills the arrays.
   *
   * @param base physical offset of the buffer's first byte, or {@link #ANYWHERE}
   * @param whole the end is that of the file: a record that runs past it is damaged
   */
  public void run(byte[] data, long base, int from, int end, boolean whole, int most) {
    count = 0;
    reason = "";
    int at = from;
    while (true) {
      if (count == most) {
        stop = Stop.FULL;
        break;
      }
      if (at > end - Facts.RECORD_BLANK_SIZE) {
        stop = whole ? Stop.DAMAGED : Stop.MORE;
        reason = whole ? "its file ends without an end-of-file blank" : "";
        break;
      }
      int size = Record.int32(data, at);
      int magic = Record.int32(data, at + Facts.RECORD_MAGIC_AT);
      if (!Record.isMagic(magic) || size < Facts.RECORD_SMALLEST || size > end - at) {
        ended(size, magic, end - at, whole);
        break;
      }
      long place = base == ANYWHERE ? Record.int64(data, at + Facts.RECORD_PHYSICAL_OFFSET_AT) : base + at;
      String fault = Record.fault(data, at, end, place, parts);
      if (fault != null) {
        stop = Stop.DAMAGED;
        reason = fault;
        break;
      }
      add(at);
      at += size;
    }
    next = at;
  }

  /** Adds the record at a position, whose parts are known. */
  private void add(int at) {
    if (count == position.length) {
      int room = 2 * count;
      position = java.util.Arrays.copyOf(position, room);
      body = java.util.Arrays.copyOf(body, room);
      topic = java.util.Arrays.copyOf(topic, room);
      topicLength = java.util.Arrays.copyOf(topicLength, room);
      properties = java.util.Arrays.copyOf(properties, room);
    }
    position[count] = at;
    body[count] = parts.body;
    topic[count] = parts.topic;
    topicLength[count] = parts.topicLength;
    properties[count] = parts.properties;
    count++;
  }

  /** Empties the arrays, for {@link #take}. */
  public void clear() {
    count = 0;
  }

  /** Adds a record at a position if it is a whole one of that size; whether it is. */
  public boolean take(byte[] data, int at, int end, long physicalOffset, int size) {
    if (at < 0
        || end - at < Facts.RECORD_SMALLEST
        || Record.int32(data, at) != size
        || Record.fault(data, at, end, physicalOffset, parts) != null) {
      return false;
    }
    add(at);
    return true;
  }

  /** Keeps the record of one number as that of another, lower one. */
  public void move(int from, int to) {
    if (from == to) {
      return;
    }
    position[to] = position[from];
    body[to] = body[from];
    topic[to] = topic[from];
    topicLength[to] = topicLength[from];
    properties[to] = properties[from];
  }

  private void ended(int size, int magic, int left, boolean whole) {
    if (magic == Facts.RECORD_MAGIC_BLANK) {
      stop = Stop.BLANK;
    } else if (size == 0) {
      stop = Stop.UNWRITTEN;
    } else if (!Record.isMagic(magic)) {
      stop = Stop.DAMAGED;
      reason = String.format("its magic number %08X is unknown", magic);
    } else if (size < Facts.RECORD_SMALLEST) {
      stop = Stop.DAMAGED;
      reason = "its size " + size + " is less than the smallest record's " + Facts.RECORD_SMALLEST;
    } else if (whole) {
      stop = Stop.DAMAGED;
      reason = "its size " + size + " is more than the " + left + " left in its file";
    } else {
      stop = Stop.MORE;
    }
  }
}
