package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The missing end of the log of a store at rest, whose newest file was removed or cut: consume queues point behind the
 * log's end, or the checkpoint knows of later messages. A flipped bit in an entry is not a lost message.
 *
 * @param end end of the last record that a queue points to
 */
public record LostTail(long start, long end, RowFile file, String what, List<Ahead> queues) {
  /** The entries of one queue that point behind the log's end. */
  public record Ahead(QueueKey key, long offset, long entries, long first, long end) {}

  static LostTail of(Directory directory, LogEnd end, boolean complete) throws IOException {
    RowFile file = end.file();
    if (directory.state != Directory.State.AT_REST || file == null) {
      return null;
    }
    if (end.offset() < file.end() && end.queued() < end.offset()) {
      return null;
    }
    List<Ahead> queues = new ArrayList<>();
    for (QueueFiles files : directory.queues) {
      if (!files.files().isEmpty()) {
        Ahead found = ahead(directory, files, end.offset());
        if (found != null) {
          queues.add(found);
        }
      }
    }
    long last = queues.stream().mapToLong(Ahead::end).max().orElse(0);
    String by = "to which consume queues lead, up to " + last;
    if (queues.stream().noneMatch(queue -> queue.first() == end.offset())) {
      if (complete && queues.isEmpty()) {
        return null;
      }
      long flushed = directory.flushed();
      if (flushed <= newestTime(file)) {
        return null;
      }
      by = queues.isEmpty() ? "but the checkpoint says that messages were stored up to " + flushed + " ms" : by;
    }
    String missing;
    if (end.offset() < file.end()) {
      missing = file.path() + " has nothing behind it";
    } else if (file.size() != directory.commitLog.get(0).size()) {
      missing = file.path() + " was cut to " + file.size() + " bytes";
    } else {
      missing = String.format("%s/commitlog/%020d is missing", directory.root, file.end());
    }
    return new LostTail(end.offset(), queues.isEmpty() ? end.offset() : last, file, missing + ", " + by, queues);
  }

  private static Ahead ahead(Directory directory, QueueFiles files, long end) throws IOException {
    try (Queue queue = new Queue(files, directory.start())) {
      if (queue.end <= queue.min) {
        return null;
      }
      Entries.Entry newest = queue.entry(queue.end - 1);
      if (newest.place() < end) {
        return null;
      }
      long offset =
          queue.bisect(queue.min, queue.end - 1, one -> one.place() < end || one.size() == Entries.BLANK);
      return new Ahead(
          files.key(), offset, queue.end - offset, queue.entry(offset).place(), newest.place() + newest.size());
    } catch (FileGone gone) {
      return null;
    }
  }

  private static long newestTime(RowFile row) throws IOException {
    long newest = 0;
    Walk walk = new Walk();
    try (OpenFile file = new OpenFile(row)) {
      byte[] data = new byte[4 << 20];
      long at = row.start();
      while (true) {
        int length = file.read(at, data, 0, data.length);
        walk.run(data, at, 0, length, length < data.length, Walk.MOST);
        for (int i = 0; i < walk.count; i++) {
          int position = walk.position[i];
          int sysFlag = Record.int32(data, position + Facts.RECORD_SYS_FLAG_AT);
          newest = Math.max(newest, Record.int64(data, position + Record.storeTimestampAt(sysFlag)));
        }
        if (walk.stop == Walk.Stop.MORE && walk.next == 0) {
          int size = Record.promisedSize(data, 0, length, at);
          if (size <= data.length) {
            return newest;
          }
          data = new byte[size + 4096];
        } else if (walk.stop != Walk.Stop.MORE && walk.stop != Walk.Stop.FULL) {
          return newest;
        }
        at += walk.next;
      }
    } catch (FileGone gone) {
      return newest;
    }
  }

  /** Reports it, if requested messages may be lost. */
  public void report(String broker, Request request) throws IOException {
    List<Ahead> wanted = queues.stream()
        .filter(queue -> request.takesTopic(queue.key().topic()) && request.takesQueue(queue.key().queueId()))
        .toList();
    if (!queues.isEmpty() && wanted.isEmpty()) {
      return;
    }
    if (request.hasTimes() && request.untilByClock() <= newestTime(file)) {
      return;
    }
    String text = "the log of " + broker + " ends at physical offset " + start + ": " + what;
    if (!wanted.isEmpty()) {
      Ahead first = wanted.stream().min(Comparator.comparingLong(Ahead::first)).orElseThrow();
      long count = wanted.stream().mapToLong(Ahead::entries).sum();
      text += "; " + count + " messages are gone (first: " + first.key().topic() + ", queue " + first.key().queueId()
          + ", offset " + first.offset() + ")";
    }
    Ranges.lost(
        text,
        request.options.failOnDataLoss,
        "Put the file back from a copy, or set failOnDataLoss to false to read what is left");
  }
}
