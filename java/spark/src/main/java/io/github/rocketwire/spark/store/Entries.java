package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;

/** Entries of one consume queue, read by queue offset; the file that was read last stays open. */
public class Entries implements Closeable {
  public static final int SIZE = Facts.QUEUE_ENTRY_SIZE;
  /** The size in an entry of no message, as a broker fills up queues with. */
  public static final int BLANK = Integer.MAX_VALUE;

  /** Entries read at once. */
  public static final int RUN = 16 * 1024;

  /** An entry: zeros where nothing was ever written. */
  public record Entry(long place, int size, long tagsCode) {
    /** Whether something was written there: a message's entry, or a blank. */
    public boolean isWritten() {
      return place >= 0 && size > 0;
    }

    boolean isMessage() {
      return isWritten() && size != BLANK;
    }
  }

  /** Gets the entries that point to messages. */
  public interface Sink {
    void entry(long queueOffset, long place, int size, long tagsCode);
  }

  private static final Entry UNWRITTEN = new Entry(0, 0, 0);
  protected List<RowFile> row;
  private OpenFile open;

  public Entries(List<RowFile> files) {
    row = new ArrayList<>(files);
  }

  /** An entry; a removed file counts as having none. */
  public Entry entry(long offset) throws IOException {
    byte[] data = read(offset, 1);
    return data.length == SIZE ? entry(data, 0) : UNWRITTEN;
  }

  /** Whether an entry is written. */
  static boolean isWritten(byte[] data, int number) {
    return Record.int64(data, number * SIZE) >= 0 && Record.int32(data, number * SIZE + Facts.QUEUE_ENTRY_SIZE_AT) > 0;
  }

  static Entry entry(byte[] data, int number) {
    ByteBuffer buffer = ByteBuffer.wrap(data, number * SIZE, SIZE);
    return new Entry(buffer.getLong(), buffer.getInt(), buffer.getLong());
  }

  /** Entries from an offset on, as bytes: so many at most, of one file only; none where there is no file. */
  byte[] read(long offset, int count) throws IOException {
    long at = offset * SIZE;
    RowFile file = fileOf(at);
    if (file == null || count <= 0) {
      return new byte[0];
    }
    byte[] data = opened(file).read(at, (int) Math.min((long) count * SIZE, file.end() - at));
    return data.length % SIZE == 0 ? data : java.util.Arrays.copyOf(data, data.length / SIZE * SIZE);
  }

  private RowFile fileOf(long at) {
    if (open != null && open.file().start() <= at && at < open.file().end()) {
      return open.file();
    }
    for (int i = row.size() - 1; i >= 0; i--) {
      if (row.get(i).start() <= at && at < row.get(i).end()) {
        return row.get(i);
      }
    }
    return null;
  }

  private OpenFile opened(RowFile file) throws IOException {
    if (open == null || open.file() != file) {
      close();
      open = new OpenFile(file);
    }
    return open;
  }

  /**
   * Gives a sink the entries from {@code first} up to, not including, {@code end} that point to messages.
   *
   * @return how many of those requested are missing: not written, or their file was removed or cut
   */
  public long written(long first, long end, Sink sink) throws IOException {
    long absent = end - first;
    for (RowFile file : row) {
      long from = Math.max(first, file.start() / SIZE);
      long to = Math.min(end, file.end() / SIZE);
      for (long at = from; at < to; at += RUN) {
        byte[] data;
        try {
          data = opened(file).read(at * SIZE, (int) Math.min(RUN, to - at) * SIZE);
        } catch (FileGone missing) {
          break;
        }
        int count = data.length / SIZE;
        for (int i = 0; i < count; i++) {
          long place = Record.int64(data, i * SIZE);
          int size = Record.int32(data, i * SIZE + Facts.QUEUE_ENTRY_SIZE_AT);
          if (place >= 0 && size > 0) {
            absent--;
            if (size != BLANK) {
              sink.entry(at + i, place, size, Record.int64(data, i * SIZE + Facts.QUEUE_ENTRY_TAGS_CODE_AT));
            }
          }
        }
      }
    }
    return absent;
  }

  /** The place of the first message from one offset up to another; -1 if there is none. */
  public long message(long low, long high) throws IOException {
    for (long start = low; start < high; start += RUN) {
      Entry one = safe(start);
      if (one.isMessage()) {
        return one.place();
      }
      long[] found = {-1};
      written(start, Math.min(start + RUN, high), (offset, place, size, code) -> {
        if (found[0] < 0) {
          found[0] = place;
        }
      });
      if (found[0] >= 0) {
        return found[0];
      }
    }
    return -1;
  }

  /** The entry of an offset; of a removed file an unwritten one. */
  public Entry safe(long offset) throws IOException {
    try {
      return entry(offset);
    } catch (FileGone gone) {
      return UNWRITTEN;
    }
  }

  /** The first offset of those from {@code low} to {@code high} whose message's place is not before a mark. */
  public long bisectPlaces(long low, long high, LongPredicate isBefore) throws IOException {
    while (low < high) {
      long middle = (low + high) >>> 1;
      long place = message(middle, high);
      if (place >= 0 && isBefore.test(place)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  @Override
  public void close() throws IOException {
    if (open != null) {
      open.close();
      open = null;
    }
  }
}
