package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Where a store's log ends: behind its last whole record of this moment, found by a walk from the newest record that
 * consume queues point to. In a log that a broker writes, or wrote when it died, the bytes behind are a torn tail; at rest
 * they are damage, and the log ends with its file.
 *
 * @param offset physical offset behind the last whole record
 * @param file the last file that has anything; null when none has
 * @param queued the largest physical offset that the queues read point to; -1 without any
 */
public record LogEnd(long offset, RowFile file, long queued) {
  /** Queues that are read for their newest record: those written last. */
  private static final int READ_QUEUES = 16;

  private static final int BLOCK = 64 << 10;

  /** The end; known ends of queues, if there are any, lead to the newest record. */
  static LogEnd of(Directory directory, Tails tails) throws IOException {
    RowFile last = null;
    for (int i = directory.commitLog.size() - 1; i >= 0 && last == null; i--) {
      last = isWritten(directory.commitLog.get(i)) ? directory.commitLog.get(i) : null;
    }
    if (last == null) {
      return new LogEnd(directory.start(), null, -1);
    }
    List<Long> newest = tails == null ? List.of() : tails.newest(READ_QUEUES);
    if (newest.isEmpty()) {
      newest = newest(directory);
    }
    long queued = newest.stream().mapToLong(Long::longValue).max().orElse(-1);
    try (OpenFile file = new OpenFile(last)) {
      long start = last.start();
      for (long place : newest) {
        if (place > last.start() && Record.isAt(file, place)) {
          start = place;
          break;
        }
      }
      return new LogEnd(endIn(file, directory.state, start), last, queued);
    } catch (FileGone gone) {
      return new LogEnd(last.start(), last, queued);
    }
  }

  private static boolean isWritten(RowFile row) throws IOException {
    try (OpenFile file = new OpenFile(row)) {
      for (byte one : file.read(row.start(), Facts.RECORD_BLANK_SIZE)) {
        if (one != 0) {
          return true;
        }
      }
      return false;
    } catch (FileGone gone) {
      return false;
    }
  }

  private static long endIn(OpenFile file, Directory.State state, long start) throws IOException {
    long end = start;
    long torn = -1;
    Walk walk = new Walk();
    while (true) {
      byte[] data = new byte[0];
      Walk.Stop stop = Walk.Stop.UNWRITTEN;
      int wanted = BLOCK;
      while (true) {
        int room = (int) Math.min(wanted, file.file().end() - end);
        if (data.length < room) {
          data = new byte[room];
        }
        int length = file.read(end, data, 0, room);
        if (length == 0) {
          stop = end == file.file().start() ? Walk.Stop.UNWRITTEN : Walk.Stop.DAMAGED;
          break;
        }
        walk.run(data, end, 0, length, end + length == file.file().end() || length < room, Walk.MOST);
        if (walk.count > 0) {
          int at = walk.position[walk.count - 1];
          int behind = at + Record.int32(data, at);
          // Its last bytes may not be written yet.
          torn = walk.properties[walk.count - 1] < behind && data[behind - 1] == 0 ? end + at : -1;
        }
        stop = walk.stop;
        end += walk.next;
        if (stop == Walk.Stop.MORE && walk.next == 0) {
          int size = Record.promisedSize(data, 0, length, end);
          if (size < 0 && length >= Facts.RECORD_HEAD_MOST || size > 0 && size <= length) {
            stop = Walk.Stop.DAMAGED;
            break;
          }
          wanted = Math.max(wanted + BLOCK, size);
        } else if (stop == Walk.Stop.MORE) {
          wanted = BLOCK;
        } else if (stop != Walk.Stop.FULL) {
          break;
        }
      }
      if (stop == Walk.Stop.BLANK) {
        return file.file().end();
      }
      if (state == Directory.State.AT_REST && stop == Walk.Stop.UNWRITTEN) {
        return end;
      }
      if (state == Directory.State.LIVE) {
        return torn < 0 ? end : torn;
      }
      // A crash may have lost pages before others.
      long found = Salvage.nextRecord(file, end + 1);
      if (found < 0) {
        return state == Directory.State.AT_REST ? file.file().end() : torn < 0 ? end : torn;
      }
      end = found;
    }
  }

  private static List<Long> newest(Directory directory) throws IOException {
    List<QueueFiles> written = new ArrayList<>(directory.queues);
    written.removeIf(queue -> queue.files().isEmpty());
    written.sort(Comparator.comparingLong((QueueFiles queue) -> queue.files().get(queue.files().size() - 1).modified())
        .reversed());
    List<Long> found = new ArrayList<>();
    for (QueueFiles files : written.subList(0, Math.min(READ_QUEUES, written.size()))) {
      try (Queue queue = new Queue(files, 0)) {
        if (queue.end > queue.first) {
          found.add(queue.entry(queue.end - 1).place());
        }
      } catch (FileGone gone) {
        continue;
      }
    }
    found.sort(Comparator.reverseOrder());
    return found;
  }
}
