package io.github.rocketwire.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RememberedTest {
  /** Entries of a file: less than are read ahead, so that files are filled. */
  private static final int ENTRIES = 60;

  @TempDir Path root;
  private Remembered remembered;
  private long place;
  private long clock;

  @BeforeEach
  void make() throws IOException {
    remembered = new Remembered(new OpenFileBudget(3), 0);
    place = 0;
    Files.createDirectories(root.resolve("commitlog"));
    Files.createDirectories(root.resolve("consumequeue"));
    Files.createFile(root.resolve("commitlog/00000000000000000000"));
  }

  private Path folder(QueueKey key) {
    return root.resolve("consumequeue").resolve(key.topic()).resolve(Integer.toString(key.queueId()));
  }

  /** Appends entries to a queue as a broker would: files of one size, zeros where nothing is written. */
  private void append(QueueKey key, long first, int count) throws IOException {
    for (long offset = first; offset < first + count; offset++) {
      Path file = folder(key).resolve(String.format("%020d", offset / ENTRIES * ENTRIES * Entries.SIZE));
      if (!Files.exists(file)) {
        boolean isNew = !Files.exists(folder(key));
        Files.createDirectories(folder(key));
        if (isNew) {
          stamp(folder(key).getParent());
          stamp(root.resolve("consumequeue"));
        }
      }
      try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
        open.setLength((long) ENTRIES * Entries.SIZE);
        open.seek(offset % ENTRIES * Entries.SIZE);
        open.writeLong(place += 100);
        open.writeInt(100);
        open.writeLong(offset);
      }
    }
  }

  /** Times of folders are too coarse for tests. */
  private void stamp(Path path) throws IOException {
    Files.setLastModifiedTime(path, FileTime.fromMillis(1_000_000_000_000L + ++clock * 1000));
  }

  /** Looks as a poll does; each known queue is as it is found without any memory. */
  private Directory look() throws IOException {
    Directory found = remembered.look(root.toString());
    Directory fresh = Directory.look(root.toString());
    assertEquals(fresh.filled.keySet(), found.filled.keySet());
    for (QueueFiles files : fresh.filled.values()) {
      try (Queue queue = new Queue(files, fresh.start())) {
        Tail tail = remembered.tails.get(files.key());
        if (tail == null) {
          remembered.tails.add(files.key(), queue);
          continue;
        }
        assertEquals(List.of(queue.min, queue.end), List.of(tail.min, tail.end()));
        assertEquals(queue.entry(queue.end - 1), tail.last());
      }
    }
    return found;
  }

  private void settle() throws IOException {
    look();
    look();
    look();
  }

  @Test
  void whatIsAppendedIsSeenWithoutListing() throws IOException {
    QueueKey key = new QueueKey("T", 0);
    append(key, 0, 2);
    settle();
    Directory former = look();
    append(key, 2, 40); // more than are read at once
    assertSame(former.queues, look().queues);
    assertEquals(42, remembered.tails.get(key).end());
  }

  @Test
  void newQueuesAndTopicsAreListed() throws IOException {
    append(new QueueKey("T", 0), 0, 2);
    settle();
    Directory former = look();
    append(new QueueKey("T", 1), 0, 2);
    assertNotSame(former.queues, look().queues);
    append(new QueueKey("U", 0), 0, 2);
    assertEquals(3, look().filled.size());
  }

  @Test
  void aFullFileIsNotTheLast() throws IOException {
    QueueKey key = new QueueKey("T", 0);
    append(key, 0, ENTRIES - 1);
    settle();
    append(key, ENTRIES - 1, 3);
    look();
    assertEquals(2, look().filled.get(key).files().size());
    assertNotNull(remembered.tails.get(key));
  }

  @Test
  void aFileThatWasMadeAnewIsSeen() throws IOException {
    QueueKey key = new QueueKey("T", 0);
    append(key, 0, 5);
    settle();
    byte[] data = Files.readAllBytes(folder(key).resolve("00000000000000000000"));
    Files.delete(folder(key).resolve("00000000000000000000"));
    Files.write(folder(key).resolve("00000000000000000000"), data); // the same, but another file
    append(key, 5, 1);
    look();
    look();
    assertEquals(6, remembered.tails.get(key).end());
  }

  @Test
  void oldEntriesGoWithTheHeadOfTheLog() throws IOException {
    QueueKey key = new QueueKey("T", 0);
    append(key, 0, 5);
    settle();
    Files.move(
        root.resolve("commitlog/00000000000000000000"), root.resolve(String.format("commitlog/%020d", place - 100)));
    look();
    look();
    assertEquals(3, remembered.tails.get(key).min);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void eachLookFindsWhatAFirstOneFinds(long seed) throws IOException {
    Random random = new Random(seed);
    List<QueueKey> keys = new ArrayList<>();
    for (String topic : List.of("T", "U")) {
      for (int number = 0; number < 3; number++) {
        keys.add(new QueueKey(topic, number));
      }
    }
    long[] ends = new long[keys.size()];
    for (int step = 0; step < 60; step++) {
      int number = random.nextInt(keys.size());
      QueueKey key = keys.get(number);
      if (random.nextInt(8) == 0 && ends[number] > 0) { // the topic is deleted, and made again
        try (var files = Files.list(folder(key))) {
          for (Path file : files.toList()) {
            Files.delete(file);
          }
        }
        Files.delete(folder(key));
        stamp(folder(key).getParent());
        ends[number] = 0;
      } else {
        int count = 1 + random.nextInt(50);
        append(key, ends[number], count);
        ends[number] += count;
      }
      if (random.nextBoolean()) {
        look();
      }
    }
    look();
  }
}
