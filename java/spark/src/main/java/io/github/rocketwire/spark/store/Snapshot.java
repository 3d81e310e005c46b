package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Ranges;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** One store as it is when a read is planned: later messages do not belong to the read. */
public final class Snapshot {
  private static final long[] NOTHING = {0, 0};

  public final String broker;
  public final Directory directory;
  public final long start;
  public final long end;
  private final LogEnd logEnd;
  private final Map<QueueKey, QueueFiles> files = new TreeMap<>();
  private final Map<QueueKey, long[]> bounds = new HashMap<>();
  private final Map<QueueKey, long[]> former;
  private LostTail lostTail;
  private boolean lostTailKnown;

  /**
   * Takes a snapshot.
   *
   * @param former the bounds of queues that an earlier one found, from which their ends are looked for
   */
  public Snapshot(String broker, Directory directory, Map<QueueKey, long[]> former) throws IOException {
    this.broker = broker;
    this.former = former;
    this.directory = directory;
    start = directory.start();
    logEnd = LogEnd.of(directory);
    end = Math.max(start, logEnd.offset());
    for (QueueFiles queue : directory.queues) {
      if (!queue.files().isEmpty()) {
        files.put(queue.key(), queue);
      }
    }
  }

  /** The missing part at the log's end; null if nothing is missing, or if it cannot be known. */
  public LostTail lostTail() throws IOException {
    if (!lostTailKnown) {
      lostTail = LostTail.of(directory, logEnd, queuesComplete());
      lostTailKnown = true;
    }
    return lostTail;
  }

  /** Whether queues can be trusted: not after a crash. */
  public boolean isWhole() {
    return directory.state == Directory.State.LIVE || directory.state == Directory.State.AT_REST;
  }

  /** Whether consume queues point to every message: not after a crash, nor with 5.x's other kinds of queues. */
  public boolean queuesComplete() {
    return isWhole()
        && !files.isEmpty()
        && directory.batchQueues.stream().allMatch(queue -> queue.files().isEmpty())
        && !directory.hasOtherQueues();
  }

  /** The bounds of the queues that were asked for so far. */
  public Map<QueueKey, long[]> knownBounds() {
    return bounds;
  }

  /** The consume queues that have files. */
  public Map<QueueKey, QueueFiles> files() {
    return files;
  }

  public boolean hasQueues(String topic) {
    return files.keySet().stream().anyMatch(key -> key.topic().equals(topic));
  }

  /** The topics that exist; null if the store has no list of them. */
  public Set<String> topics() {
    Set<String> found = new TreeSet<>(directory.topics);
    Map<String, Integer> configured = directory.configuredTopics();
    if (configured != null) {
      found.addAll(configured.keySet());
    }
    directory.batchQueues.forEach(queue -> found.add(queue.topic()));
    return found.isEmpty() ? null : found;
  }

  /** Queue offsets: of the first message that is in the log, and behind the last one; 0 and 0 without a queue. */
  public long[] bounds(QueueKey key) throws IOException {
    QueueFiles queue = files.get(key);
    if (queue == null) {
      return new long[] {0, 0};
    }
    long[] found = bounds.get(key);
    if (found == null) {
      try (Queue opened = new Queue(queue, start, former.getOrDefault(key, NOTHING)[1])) {
        found = new long[] {opened.min, endOf(opened)};
      }
      bounds.put(key, found);
    }
    return found;
  }

  private long endOf(Queue queue) throws IOException {
    if (directory.state == Directory.State.AT_REST || queue.end == queue.min) {
      return queue.end;
    }
    try {
      // A broker may write an entry before its message, and a crash may lose the message and keep the entry.
      if (queue.entry(queue.end - 1).place() < end) {
        return queue.end;
      }
      return queue.bisect(queue.min, queue.end, one -> one.place() < end || one.size() == Entries.BLANK);
    } catch (FileGone gone) {
      return queue.end;
    }
  }

  /** The queues that options select, each with the offsets that it has. */
  public Map<QueueKey, long[]> selectedBounds(Options options) throws IOException {
    Map<QueueKey, long[]> found = new TreeMap<>();
    for (QueueKey key : files.keySet()) {
      if (options.takesTopic(key.topic()) && (options.queues == null || options.queues.contains(key.queueId()))) {
        found.put(key, bounds(key));
      }
    }
    return found;
  }

  /** The queues that options select, each with the requested offsets that exist. */
  public Map<QueueKey, long[]> selected(Options options) throws IOException {
    Map<QueueKey, long[]> found = new TreeMap<>();
    for (var entry : selectedBounds(options).entrySet()) {
      found.put(entry.getKey(), Ranges.asked(options, broker, entry.getKey(), entry.getValue()));
    }
    return found;
  }
}
