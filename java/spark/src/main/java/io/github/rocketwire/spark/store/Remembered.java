package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.SourceException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;

/**
 * What a stream remembers of a store between two polls, so that the next one reads only what can have changed. With
 * thousands of queues most of a poll is listing their folders and finding their ends. The folders are listed again when
 * one of them was written since, when the log begins elsewhere, or when the last file of a queue is full or was removed.
 */
public final class Remembered implements Closeable {
  /** A folder's time of writing may be too coarse for two changes within so many ns. */
  private static final long SETTLED = 1_000_000_000L;

  public final Tails tails;
  private final long settled;
  private Directory directory;
  /** The folders in which queues appear and vanish, when they were written, and when that was first seen. */
  private List<Path> folders = List.of();

  private List<FileTime> stamps = List.of();
  private long seen;
  /** Whether the folders were listed well after they were written. */
  private boolean isSettled;

  /**
   * Remembers nothing yet.
   *
   * @param budget how many files may stay open, of all stores of the stream
   */
  public Remembered(OpenFileBudget budget) {
    this(budget, SETTLED);
  }

  Remembered(OpenFileBudget budget, long settled) {
    tails = new Tails(budget);
    this.settled = settled;
  }

  /**
   * Lists the store, and reads the ends of its known queues.
   *
   * @throws SourceException it is no store, or cannot be read
   */
  public Directory look(String root) {
    try {
      if (directory != null && isSettled && written(folders).equals(stamps)) {
        Directory found = Directory.lookAgain(root, directory);
        if (found.start() == directory.start() && found.state == directory.state && tails.follow()) {
          return found;
        }
      }
      tails.close();
      long begun = System.nanoTime();
      directory = Directory.look(root);
      folders = folders(directory);
      List<FileTime> now = written(folders);
      if (now.equals(stamps)) {
        isSettled = begun - seen >= settled;
      } else {
        stamps = now;
        seen = System.nanoTime();
        isSettled = false;
      }
      return directory;
    } catch (IOException error) {
      throw Directory.unreadable(error);
    }
  }

  private static List<Path> folders(Directory directory) {
    List<Path> found = new ArrayList<>();
    Path queues = Path.of(directory.root, "consumequeue");
    found.add(queues);
    directory.topics.forEach(topic -> found.add(queues.resolve(topic)));
    Path batches = Path.of(directory.root, "batchconsumequeue");
    found.add(batches);
    directory.batchQueues.stream()
        .map(QueueFiles::topic)
        .distinct()
        .forEach(topic -> found.add(batches.resolve(topic)));
    return found;
  }

  /** When folders were written; null for those that are not there. */
  private static List<FileTime> written(List<Path> folders) throws IOException {
    List<FileTime> found = new ArrayList<>(folders.size());
    for (Path folder : folders) {
      found.add(Directory.written(folder));
    }
    return found;
  }

  /** Closes what is open. */
  @Override
  public void close() throws IOException {
    tails.close();
  }
}
