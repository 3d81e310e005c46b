package io.github.rocketwire.spark.store;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.rocketwire.spark.SourceException;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The files of a store directory, with their names and sizes when it is listed. */
public final class Directory {
  /** Whether a broker uses the store. */
  public enum State {
    LIVE,
    AT_REST,
    CRASHED,
    UNKNOWN
  }

  private static final String ROOT =
      "Name the directory that a broker's storePathRootDir names: it holds commitlog and consumequeue";
  private static final Set<String> MARKS = Set.of("commitlog", "consumequeue", "checkpoint", "abort");
  private static final Set<String> KNOWN = Set.of(
      "commitlog", "consumequeue", "batchconsumequeue", "index", "timerlog", "config", "timerwheel", "checkpoint",
      "abort", "abort.bak", "lock");
  private static final ObjectMapper JSON = new ObjectMapper()
      .configure(JsonParser.Feature.ALLOW_UNQUOTED_FIELD_NAMES, true)
      .configure(JsonParser.Feature.ALLOW_SINGLE_QUOTES, true);

  public final String root;
  public final State state;
  public final List<RowFile> commitLog;
  public final Set<String> topics;
  public final List<QueueFiles> queues;
  /** The consume queues that have files, in order. */
  public final Map<QueueKey, QueueFiles> filled;

  public final List<QueueFiles> batchQueues;
  public final List<Path> index;
  public final List<String> others;
  /** When the list of topics was written; null without one. */
  private final FileTime configuredAt;

  private Optional<Map<String, Integer>> configured;

  /** Lists a directory; its queues are those of a former listing, unless that is null. */
  private Directory(String root, Directory former) throws IOException {
    this.root = root;
    Set<String> names = new TreeSet<>(list(root, true));
    if (names.stream().noneMatch(MARKS::contains)) {
      throw new SourceException(
          SourceException.NOT_A_STORE,
          root + " is no RocketMQ store: it holds neither commitlog, consumequeue nor checkpoint",
          ROOT);
    }
    commitLog = row(root + "/commitlog");
    topics = former == null ? new TreeSet<>() : former.topics;
    queues = former == null ? queues(root + "/consumequeue", topics) : former.queues;
    filled = former == null ? filled(queues) : former.filled;
    batchQueues = former == null ? queues(root + "/batchconsumequeue", new TreeSet<>()) : former.batchQueues;
    index = new ArrayList<>();
    for (String name : list(root + "/index", false)) {
      if (name.length() == 17 && digits(name)) {
        index.add(Path.of(root, "index", name));
      }
    }
    boolean abort = names.contains("abort");
    state = Locks.held(Path.of(root, "lock"), abort)
        .map(held -> held ? State.LIVE : abort ? State.CRASHED : State.AT_REST)
        .orElse(abort ? State.UNKNOWN : State.AT_REST);
    others = new ArrayList<>();
    for (String name : names) {
      if (!KNOWN.contains(name)) {
        others.add(name);
      }
    }
    configuredAt = written(Path.of(root, "config", "topics.json"));
    if (former != null && configuredAt != null && configuredAt.equals(former.configuredAt)) {
      configured = former.configured;
    }
  }

  /** When a file or folder was written; null if it is not there. */
  static FileTime written(Path path) throws IOException {
    try {
      return Files.getLastModifiedTime(path);
    } catch (NoSuchFileException missing) {
      return null;
    }
  }

  /**
   * Lists a store directory.
   *
   * @throws SourceException it is no store, or cannot be read
   */
  public static Directory look(String root) {
    return lookAgain(root, null);
  }

  /** The same, with the queues of a former look; null: they are listed. */
  static Directory lookAgain(String root, Directory former) {
    try {
      return new Directory(root, former);
    } catch (NotDirectoryException error) {
      throw new SourceException(
          SourceException.NOT_A_STORE, error.getFile() + " is a file, and no RocketMQ store", ROOT);
    } catch (IOException error) {
      throw unreadable(error);
    }
  }

  /** The error of the data source for one of the file system. */
  public static SourceException unreadable(IOException error) {
    String what = error.getMessage();
    if (error instanceof NoSuchFileException missing) {
      what = missing.getFile() + " cannot be read: there is no such directory";
    } else if (error instanceof AccessDeniedException denied) {
      what = denied.getFile() + " cannot be read: Permission denied";
    } else if (error instanceof FileSystemException other && other.getReason() != null) {
      what = other.getFile() + " cannot be read: " + other.getReason();
    }
    return new SourceException(
        SourceException.PATH_UNREADABLE,
        what,
        "Check that the path is right, and that the user of Spark's driver and workers may read all of it");
  }

  /** Physical offset of the first byte of the commit log. */
  public long start() {
    return commitLog.isEmpty() ? 0 : commitLog.get(0).start();
  }

  /** Whether there are queues of another kind than files: those of 5.x in RocksDB. */
  public boolean hasOtherQueues() {
    return others.stream().anyMatch(name -> name.toLowerCase(java.util.Locale.ROOT).contains("consumequeue"));
  }

  /**
   * The topics of {@code topics.json} with their numbers of queues; those of the .bak when it is missing or damaged;
   * null when what there is cannot be read.
   */
  public Map<String, Integer> configuredTopics() {
    if (configured == null) {
      configured = Optional.ofNullable(readTopics());
    }
    return configured.orElse(null);
  }

  private Map<String, Integer> readTopics() {
    boolean damaged = false;
    for (String name : List.of("topics.json", "topics.json", "topics.json.bak")) {
      try {
        byte[] text = Files.readAllBytes(Path.of(root, "config", name));
        JsonNode document = text.length == 0 ? null : JSON.readTree(text);
        if (document == null || document.isMissingNode()) {
          continue;
        }
        if (document.isObject()) {
          Map<String, Integer> found = new TreeMap<>();
          document.path("topicConfigTable").fields().forEachRemaining(entry -> found.put(
              entry.getKey(), Math.max(count(entry.getValue(), "readQueueNums"), count(entry.getValue(), "writeQueueNums"))));
          return found;
        }
        damaged = true;
      } catch (NoSuchFileException missing) {
        continue;
      } catch (IOException error) {
        damaged = true;
      }
    }
    return damaged ? null : Map.of();
  }

  private static int count(JsonNode config, String name) {
    int count = config.path(name).asInt(0);
    return count <= 1 << 16 ? Math.max(0, count) : 0;
  }

  /** The store time (ms) up to which the log is on the disk by the checkpoint; 0 without one. */
  public long flushed() {
    try (var input = Files.newInputStream(Path.of(root, "checkpoint"))) {
      byte[] data = input.readNBytes(24);
      return data.length < 24 ? 0 : ByteBuffer.wrap(data).getLong();
    } catch (IOException error) {
      return 0;
    }
  }

  private static List<String> list(String path, boolean needed) throws IOException {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(Path.of(path))) {
      entries.forEach(entry -> names.add(entry.getFileName().toString()));
    } catch (NoSuchFileException error) {
      if (needed) {
        throw error;
      }
    } catch (java.nio.file.DirectoryIteratorException error) {
      throw error.getCause();
    }
    names.sort(null);
    return names;
  }

  private static List<RowFile> row(String path) throws IOException {
    List<RowFile> found = new ArrayList<>();
    for (String name : list(path, false)) {
      if (name.length() != 20 || !digits(name) || name.compareTo("09223372036854775807") > 0) {
        continue;
      }
      try {
        BasicFileAttributes file = Files.readAttributes(Path.of(path, name), BasicFileAttributes.class);
        if (file.isRegularFile()) {
          found.add(new RowFile(path + "/" + name, Long.parseLong(name), file.size(), file.lastModifiedTime().toMillis()));
        }
      } catch (NoSuchFileException gone) {
        continue;
      }
    }
    return found;
  }

  private static List<QueueFiles> queues(String path, Set<String> topics) throws IOException {
    List<QueueFiles> found = new ArrayList<>();
    for (String topic : list(path, false)) {
      String folder = path + "/" + topic;
      if (!new File(folder).isDirectory()) {
        continue;
      }
      topics.add(topic);
      TreeSet<Integer> numbers = new TreeSet<>();
      for (String name : list(folder, false)) {
        if (digits(name) && name.length() < 10 && Integer.toString(Integer.parseInt(name)).equals(name)
            && new File(folder, name).isDirectory()) {
          numbers.add(Integer.parseInt(name));
        }
      }
      for (int number : numbers) {
        String queue = folder + "/" + number;
        found.add(new QueueFiles(topic, number, queue, row(queue)));
      }
    }
    return found;
  }

  private static Map<QueueKey, QueueFiles> filled(List<QueueFiles> queues) {
    Map<QueueKey, QueueFiles> found = new TreeMap<>();
    for (QueueFiles queue : queues) {
      if (!queue.files().isEmpty()) {
        found.put(queue.key(), queue);
      }
    }
    return Collections.unmodifiableMap(found);
  }

  private static boolean digits(String name) {
    return !name.isEmpty() && name.chars().allMatch(sign -> sign >= '0' && sign <= '9');
  }
}
