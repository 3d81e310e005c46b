package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.ArrayList;
import java.util.Set;
import java.util.TreeSet;

/**
 * Index files: from a key to the physical offsets of the messages that may have it. How many slots a file has is a
 * setting of the broker; only files of the default are read here, others cover nothing, so that the log is walked.
 */
public final class IndexFiles {
  private static final int HEADER = Facts.INDEX_HEADER_SIZE;
  private static final int SLOTS = 5_000_000;
  private static final int ENTRIES = 20_000_000;
  private static final int SLOT = Facts.INDEX_SLOT_SIZE;
  private static final int ENTRY = Facts.INDEX_ENTRY_SIZE;
  private static final long SIZE = HEADER + (long) SLOTS * SLOT + (long) ENTRIES * ENTRY;

  /** Where messages may be, and which parts of the log that covers. */
  public record Found(Set<Long> places, List<long[]> covered) {}

  private IndexFiles() {}

  /** Looks up keys of topics. A file that cannot be read covers nothing. */
  public static Found lookUp(List<Path> files, Collection<String> topics, Collection<String> keys) {
    Set<Integer> hashes = new HashSet<>();
    for (String topic : topics) {
      for (String key : keys) {
        int hash = Math.abs((topic + "#" + key).hashCode());
        hashes.add(Math.max(0, hash));
      }
    }
    Set<Long> places = new TreeSet<>();
    List<long[]> covered = new ArrayList<>();
    for (Path path : files) {
      try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
        if (file.size() != SIZE) {
          continue;
        }
        ByteBuffer header = read(file, 0, HEADER);
        long begin = header.getLong(Facts.INDEX_HEADER_BEGIN_OFFSET_AT);
        long end = header.getLong(Facts.INDEX_HEADER_END_OFFSET_AT);
        for (int hash : hashes) {
          find(file, hash, places);
        }
        // Other keys of the first and of the last message may stand in another file, or not be indexed yet.
        covered.add(new long[] {begin + 1, end});
      } catch (IOException error) {
        continue;
      }
    }
    return new Found(places, covered);
  }

  private static void find(FileChannel file, int hash, Set<Long> places) throws IOException {
    int number = read(file, HEADER + (long) (hash % SLOTS) * SLOT, SLOT).getInt(0);
    while (number > 0 && number <= ENTRIES) {
      ByteBuffer entry = read(file, HEADER + (long) SLOTS * SLOT + (long) number * ENTRY, ENTRY);
      if (entry.getInt(Facts.INDEX_ENTRY_KEY_HASH_AT) == hash) {
        places.add(entry.getLong(Facts.INDEX_ENTRY_PHYSICAL_OFFSET_AT));
      }
      // A chain leads to ever older entries; one that does not is damaged, and might never end.
      int previous = entry.getInt(Facts.INDEX_ENTRY_PREVIOUS_AT);
      number = previous < number ? previous : 0;
    }
  }

  private static ByteBuffer read(FileChannel file, long at, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length);
    while (buffer.hasRemaining()) {
      if (file.read(buffer, at + buffer.position()) <= 0) {
        throw new IOException("the index file was cut");
      }
    }
    return buffer;
  }
}
