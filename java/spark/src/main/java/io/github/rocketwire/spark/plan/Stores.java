package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Similar;
import io.github.rocketwire.spark.store.Directory;
import io.github.rocketwire.spark.store.OpenFile;
import io.github.rocketwire.spark.store.Queue;
import io.github.rocketwire.spark.store.QueueFiles;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.Remembered;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.File;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/** Opens the stores of a read, and checks that the topics, queues and brokers of its options exist. */
public final class Stores {
  private Stores() {}

  /**
   * Snapshots of the stores of the option path.
   *
   * @throws SourceException one is no store, or cannot be read; or no store has a topic or queue of the options
   */
  public static List<Snapshot> open(Options options) {
    return open(options, root -> null);
  }

  /**
   * The same.
   *
   * @param remembered what is remembered of the store in a directory; null: nothing
   */
  public static List<Snapshot> open(Options options, Function<String, Remembered> remembered) {
    List<String> roots = roots(options.paths);
    Map<String, String> names = new HashMap<>();
    options.brokers.forEach((path, broker) -> names.put(canonical(path), broker));
    for (String path : new TreeSet<>(names.keySet())) {
      if (!roots.contains(path)) {
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "option brokers names " + path + ", which is none of the stores",
            "The stores are " + String.join(", ", roots));
      }
    }
    try {
      List<Snapshot> stores = new ArrayList<>();
      for (String root : roots) {
        Remembered known = remembered.apply(root);
        Directory directory = known == null ? Directory.look(root) : known.look(root);
        checkLog(directory);
        stores.add(new Snapshot(names.getOrDefault(root, root), directory, known == null ? null : known.tails));
      }
      checkNames(stores, options);
      return stores;
    } catch (IOException error) {
      throw Directory.unreadable(error);
    }
  }

  /** The directories that paths name: with commas between them, and by patterns. */
  static List<String> roots(List<String> paths) {
    Set<String> found = new LinkedHashSet<>();
    for (String path : paths) {
      String[] parts = new File(path).isDirectory() ? new String[] {path} : path.split(",", -1);
      for (String one : parts) {
        String root = canonical(one);
        if (root.chars().noneMatch(sign -> sign == '*' || sign == '?' || sign == '[') || new File(root).isDirectory()) {
          found.add(root);
          continue;
        }
        List<String> fitting = new ArrayList<>();
        fit("", root.substring(1).split("/"), 0, fitting);
        if (fitting.isEmpty()) {
          throw new SourceException(
              SourceException.PATH_UNREADABLE,
              root + " fits no directory",
              "Look for a misspelt name; the glob signs are *, ? and []");
        }
        fitting.sort(null);
        found.addAll(fitting);
      }
    }
    return new ArrayList<>(found);
  }

  private static void fit(String path, String[] names, int number, List<String> found) {
    if (number == names.length) {
      found.add(path);
      return;
    }
    String name = names[number];
    boolean glob = name.chars().anyMatch(sign -> sign == '*' || sign == '?' || sign == '[');
    PathMatcher matcher = glob
        ? FileSystems.getDefault().getPathMatcher("glob:" + name.replace("[!", "[!").replace("{", "\\{"))
        : null;
    String[] children = matcher == null ? new String[] {name} : new File(path + "/").list();
    for (String child : children == null ? new String[0] : children) {
      boolean fits = matcher == null
          || matcher.matches(Path.of(child)) && (name.startsWith(".") || !child.startsWith("."));
      if (fits && new File(path, child).isDirectory()) {
        fit(path + "/" + child, names, number + 1, found);
      }
    }
  }

  private static String canonical(String path) {
    String stripped = path.strip();
    if (stripped.isEmpty()) {
      throw new SourceException(
          SourceException.OPTION_INVALID, "option path names nothing", "Name directories, with one comma between two");
    }
    if (stripped.regionMatches(true, 0, "file:", 0, 5)) {
      String rest = stripped.substring(5).replaceFirst("^//[^/]*", "");
      stripped = URLDecoder.decode(rest.replace("+", "%2B"), StandardCharsets.UTF_8);
    }
    // Symbolic links are not resolved: their targets may change between two runs of a stream.
    return Path.of(stripped).toAbsolutePath().normalize().toString();
  }

  private static void checkLog(Directory directory) throws IOException {
    if (directory.commitLog.isEmpty()) {
      if (directory.others.stream().anyMatch(name -> name.startsWith("dledger"))) {
        throw new SourceException(
            SourceException.NOT_A_STORE,
            directory.root + " is the store of a DLedger group, whose log is of another form",
            "Read from the running brokers: option namesrv instead of a path");
      }
      for (QueueFiles files : directory.queues) {
        try (Queue queue = new Queue(files, 0)) {
          if (queue.end > queue.min) {
            throw new SourceException(
                SourceException.NOT_A_STORE,
                directory.root + " has consume queues with messages, and no commit log",
                "Link the folder that storePathCommitLog names to " + directory.root + "/commitlog");
          }
        }
      }
      return;
    }
    Integer magic = unknownMagic(directory.commitLog.get(0));
    if (magic != null) {
      throw new SourceException(
          SourceException.NOT_A_STORE,
          String.format("%s holds records of an unknown version (magic number %08X)", directory.root, magic),
          "Stores of RocketMQ 4.x and 5.x can be read; a newer rocketwire may know this one");
    }
  }

  /** The magic number of a file's first two records, if it is unknown: damage hardly changes both alike. */
  private static Integer unknownMagic(RowFile first) throws IOException {
    int[] magics = new int[2];
    long at = first.start();
    try (OpenFile file = new OpenFile(first)) {
      for (int i = 0; i < 2; i++) {
        byte[] head = file.read(at, Facts.RECORD_SMALLEST);
        if (head.length < Facts.RECORD_SMALLEST
            || Record.int32(head, 0) < Facts.RECORD_SMALLEST
            || Record.int64(head, Facts.RECORD_PHYSICAL_OFFSET_AT) != at) {
          return null;
        }
        magics[i] = Record.int32(head, Facts.RECORD_MAGIC_AT);
        at += Record.int32(head, 0);
      }
    } catch (io.github.rocketwire.spark.store.FileGone gone) {
      return null;
    }
    boolean known = Record.isMagic(magics[0]) || magics[0] == Facts.RECORD_MAGIC_BLANK || magics[0] == 0;
    return magics[0] == magics[1] && !known ? magics[0] : null;
  }

  private static void checkNames(List<Snapshot> stores, Options options) {
    Set<String> brokers = new HashSet<>();
    for (Snapshot store : stores) {
      if (!brokers.add(store.broker)) {
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "two stores have the broker " + store.broker,
            "Give each a name of its own by the option brokers");
      }
    }
    Map<String, Set<Integer>> queues = new TreeMap<>();
    for (Snapshot store : stores) {
      if (!addQueues(store, queues)) {
        return;
      }
    }
    for (String topic : options.topics) {
      needTopic(topic, queues);
    }
    List<Set<Integer>> read = queues.entrySet().stream()
        .filter(entry -> options.takesTopic(entry.getKey()))
        .map(Map.Entry::getValue)
        .toList();
    if (options.queues != null && !read.isEmpty()) {
      for (int number : new TreeSet<>(options.queues)) {
        if (read.stream().noneMatch(numbers -> numbers.contains(number))) {
          throw new SourceException(
              SourceException.TOPIC_UNKNOWN, "no topic that is read has a queue " + number, "Check the option queues");
        }
      }
    }
    for (Options.RequestedOffsets offsets : Arrays.asList(options.starting, options.ending)) {
      if (offsets != null) {
        checkOffsets(offsets, queues, brokers);
      }
    }
  }

  private static void checkOffsets(
      Options.RequestedOffsets requested, Map<String, Set<Integer>> queues, Set<String> brokers) {
    requested.table().forEach((broker, topics) -> {
      if (!broker.isEmpty() && !brokers.contains(broker)) {
        throw new SourceException(
            SourceException.OPTION_INVALID,
            "offsets are given of " + broker + ", which no store is",
            "They are " + String.join(", ", brokers));
      }
      topics.forEach((topic, offsets) -> {
        needTopic(topic, queues);
        for (int number : offsets.keySet()) {
          if (queues.containsKey(topic) && !queues.get(topic).contains(number)) {
            throw new SourceException(
                SourceException.TOPIC_UNKNOWN,
                topic + " has no queue " + number + ", of which offsets are given",
                "It has " + String.join(", ", queues.get(topic).stream().map(String::valueOf).toList()));
          }
        }
      });
    });
  }

  private static void needTopic(String topic, Map<String, Set<Integer>> known) {
    // Not all of RocketMQ's own topics are in topics.json.
    if (!known.containsKey(topic) && !Options.isHidden(topic)) {
      String hint = Similar.to(topic, known.keySet());
      throw new SourceException(
          SourceException.TOPIC_UNKNOWN,
          "there is no topic " + topic,
          hint.isEmpty() ? "rocketwire store list lists the topics of a store" : hint);
    }
  }

  /** Adds the topics of a store with the numbers of their queues; false if they are unknown. */
  private static boolean addQueues(Snapshot store, Map<String, Set<Integer>> queues) {
    Set<String> topics = store.topics();
    if (topics == null) {
      return false;
    }
    topics.forEach(topic -> queues.computeIfAbsent(topic, name -> new TreeSet<>()));
    for (List<QueueFiles> found : List.of(store.directory.queues, store.directory.batchQueues)) {
      found.forEach(queue -> queues.get(queue.topic()).add(queue.queueId()));
    }
    Map<String, Integer> configured = store.directory.configuredTopics();
    if (configured != null) {
      configured.forEach((topic, count) -> {
        for (int number = 0; number < count; number++) {
          queues.get(topic).add(number);
        }
      });
    }
    return true;
  }
}
