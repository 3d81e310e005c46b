package io.github.rocketwire.spark.store;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;

/** The end of one consume queue as it is known, and its last file, in which the broker appends. */
final class Tail implements Closeable {
  /** Entries read first: the last one and some behind it; how many must be unwritten to know the end; read next. */
  private static final int FIRST = 33;

  private static final int LEFT = 8;
  private static final int NEXT = 512;
  static final int BUFFER = NEXT * Entries.SIZE;

  /** Offset of the first entry whose message is in the log. */
  final long min;

  private final RowFile file;
  private final Path path;
  private final Object identity;
  private final OpenFileBudget budget;
  private final OpenFile open;
  private long end;
  private Entries.Entry last;

  private Tail(Queue queue, RowFile file, OpenFileBudget budget) throws IOException {
    this.file = file;
    this.budget = budget;
    min = queue.min;
    end = queue.end;
    last = queue.entry(end - 1);
    path = Path.of(file.path());
    identity = identity();
    open = budget.take() ? new OpenFile(file) : null;
    if (identity == null || !identity.equals(identity())) {
      close();
      throw new FileGone(file.path());
    }
  }

  /**
   * The tail of an open queue; null if its last entry is not in its last file.
   *
   * @throws FileGone the file was removed
   */
  static Tail of(Queue queue, OpenFileBudget budget) throws IOException {
    RowFile file = queue.row.isEmpty() ? null : queue.row.get(queue.row.size() - 1);
    long at = (queue.end - 1) * Entries.SIZE;
    return file == null || at < file.start() || at >= file.end() ? null : new Tail(queue, file, budget);
  }

  /** Offset behind the last entry. */
  long end() {
    return end;
  }

  /** The last entry. */
  Entries.Entry last() {
    return last;
  }

  /**
   * Reads what was appended.
   *
   * @param buffer of {@code BUFFER} bytes, for what is read
   * @return whether that was possible: the file was not removed, cut or filled, and has the same last entry
   */
  boolean follow(byte[] buffer) throws IOException {
    if (open != null) {
      return follow(open, buffer);
    }
    try (OpenFile once = new OpenFile(file)) {
      return follow(once, buffer);
    }
  }

  private boolean follow(OpenFile from, byte[] buffer) throws IOException {
    long former = end;
    int wanted = FIRST;
    while (true) {
      long at = (end - 1) * Entries.SIZE;
      int room = (int) Math.min((long) wanted * Entries.SIZE, file.end() - at);
      if (from.read(at, buffer, 0, room) < room || !Entries.entry(buffer, 0).equals(last)) {
        return false;
      }
      int left = room / Entries.SIZE - 1;
      int newest = left;
      while (newest > 0 && !Entries.isWritten(buffer, newest)) {
        newest--;
      }
      last = newest == 0 ? last : Entries.entry(buffer, newest);
      end += newest;
      left -= newest;
      if (end * Entries.SIZE >= file.end()) {
        return false;
      }
      if (left >= LEFT || (end + left) * Entries.SIZE >= file.end()) {
        // A file that grows was not removed.
        return end > former || Objects.equals(identity, identity());
      }
      wanted = NEXT;
    }
  }

  /** What identifies the file, also among others at its path; null if there is none. */
  private Object identity() throws IOException {
    try {
      return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    } catch (NoSuchFileException gone) {
      return null;
    }
  }

  @Override
  public void close() throws IOException {
    if (open != null) {
      budget.give();
      open.close();
    }
  }
}
