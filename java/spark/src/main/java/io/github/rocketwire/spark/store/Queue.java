package io.github.rocketwire.spark.store;

import java.io.IOException;
import java.util.ArrayList;
import java.util.function.Predicate;

/**
 * One consume queue, whose ends are found by bisection when it is opened: an entry that was never written is zero, and
 * what a broker appends later is not seen.
 */
public final class Queue extends Entries {
  /** So many entries are read at once rather than searched by single reads. */
  private static final int NEAR = 4096 / SIZE + 1;
  /** So many entries behind the end are checked, for holes of pages that a crash lost. */
  private static final int BEHIND = 4 * 4096 / SIZE;

  public final QueueFiles files;
  /** Offset of the first entry that has a place in the files. */
  public long first;
  /** Offset of the first entry whose message is in the log; {@code end} if there is none. */
  public long min;
  /** Offset behind the last entry that was written. */
  public long end;

  public Queue(QueueFiles files, long logStart) throws IOException {
    super(files.files());
    this.files = files;
    while (true) {
      first = row.isEmpty() ? 0 : row.get(0).start() / SIZE;
      long stop = row.isEmpty() ? 0 : row.get(row.size() - 1).end() / SIZE;
      try {
        end = findEnd(lastWritten(), stop);
        min = findMin(logStart);
        return;
      } catch (FileGone gone) {
        row = new ArrayList<>(row.stream().filter(file -> new java.io.File(file.path()).exists()).toList());
      }
    }
  }

  /** The first offset of the last file that has an entry: a hole in a file before it is not the queue's end. */
  private long lastWritten() throws IOException {
    for (int i = row.size() - 1; i > 0; i--) {
      long start = row.get(i).start() / SIZE;
      if (entry(start).isWritten() || lastOf(read(start, BEHIND)) > 0) {
        return start;
      }
    }
    return first;
  }

  private long findEnd(long low, long high) throws IOException {
    while (true) {
      long from = low;
      long to = high;
      while (to - from > NEAR) {
        long middle = (from + to) >>> 1;
        if (entry(middle).isWritten()) {
          from = middle + 1;
        } else {
          to = middle;
        }
      }
      from = bisect(from, to, Entry::isWritten);
      int last = lastOf(read(from, BEHIND));
      if (last == 0) {
        return from;
      }
      low = from + last;
    }
  }

  private long findMin(long logStart) throws IOException {
    long low = first;
    Entry found = entry(low);
    if (found.place() < logStart) {
      low = bisect(low, end, one -> one.isWritten() && one.place() < logStart);
      found = entry(low);
    }
    if (found.size() != BLANK) {
      return low;
    }
    long[] real = {end};
    for (long at = low; at < end && real[0] == end; at += RUN) {
      written(at, Math.min(end, at + RUN), (offset, place, size, code) -> real[0] = Math.min(real[0], offset));
    }
    return real[0];
  }

  /** The first offset of those from {@code low} to {@code high} whose entry is not before a mark. */
  public long bisect(long low, long high, Predicate<Entry> isBefore) throws IOException {
    while (low < high) {
      long middle = (low + high) >>> 1;
      if (isBefore.test(entry(middle))) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Behind which of these entries none is written; 0 if none of them is. */
  private static int lastOf(byte[] data) {
    for (int number = data.length / SIZE - 1; number >= 0; number--) {
      if (entry(data, number).isWritten()) {
        return number + 1;
      }
    }
    return 0;
  }
}
