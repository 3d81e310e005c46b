package io.github.rocketwire.spark.store;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Optional;

/**
 * Whether a broker holds a store's lock. Java can only try to take a lock, which could make a broker that starts fail;
 * so on Linux the kernel's list of locks is read.
 */
final class Locks {
  private static final Path LIST = Path.of("/proc/locks");

  private Locks() {}

  /** Whether the lock is held; empty if it may not be read. Elsewhere than on Linux it is tried if `abort` exists. */
  static Optional<Boolean> held(Path lock, boolean abort) {
    try {
      if (Files.isReadable(LIST)) {
        Map<String, Object> file = Files.readAttributes(lock, "unix:ino,dev");
        String inode = ":" + file.get("ino");
        String device = device(((Number) file.get("dev")).longValue());
        boolean found = Files.readAllLines(LIST).stream()
            .map(String::trim)
            .map(line -> line.split("\\s+"))
            .anyMatch(words -> words.length > 6
                && !words[1].equals("->")
                && words[3].equals("WRITE")
                && words[5].equals(device + inode)
                && words[6].equals("0"));
        return Optional.of(found);
      }
      if (!abort) {
        return Optional.of(false);
      }
      try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.READ);
          FileLock taken = channel.tryLock(0, 1, true)) {
        return Optional.of(taken == null);
      }
    } catch (OverlappingFileLockException own) {
      return Optional.of(true);
    } catch (NoSuchFileException missing) {
      return Optional.of(false);
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException error) {
      return Optional.empty();
    }
  }

  /** A device as the list has it: two hexadecimal numbers, made of Linux's 64-bit number. */
  private static String device(long number) {
    long major = number >>> 8 & 0xFFF | number >>> 32 & ~0xFFFL;
    long minor = number & 0xFF | number >>> 12 & ~0xFFL;
    return String.format("%02x:%02x", major, minor);
  }
}
