package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Ranges;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** One store as it is when a read is planned: later messages do not belong to the read. */
public final class Snapshot {
  public final String broker;
  public final Directory directory;
  public final long start;
  public final long end;
  private final LogEnd logEnd;
  private final Map<QueueKey, QueueFiles> files;
  private final Map<QueueKey, long[]> bounds = new HashMap<>();
  private final Tails tails;
  private LostTail lostTail;
  private boolean lostTailKnown;

  /**
   * Takes a snapshot.
   *
   * @param tails the known ends of queues, to which others are added; null: none is remembered
   */
  public Snapshot(String broker, Directory directory, Tails tails) throws IOException {
    this.broker = broker;
    this.tails = tails;
    this.directory = directory;
    start = directory.start();
    logEnd = LogEnd.of(directory, tails);
    end = Math.max(start, logEnd.offset());
    files = directory.filled;
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
      Tail tail = tails == null ? null : tails.get(key);
      found = tail != null && tail.last().place() < end ? new long[] {tail.min, tail.end()} : opened(queue);
      bounds.put(key, found);
    }
    return found;
  }

  private long[] opened(QueueFiles files) throws IOException {
    try (Queue queue = new Queue(files, start)) {
      if (tails != null) {
        tails.add(files.key(), queue);
      }
      return new long[] {queue.min, endOf(queue)};
    }
  }

  /** The place of the message before an offset of a queue; -1 if there is none. */
  public long placeBefore(QueueKey key, long offset) throws IOException {
    QueueFiles queue = files.get(key);
    if (queue == null || offset <= bounds(key)[0]) {
      return -1;
    }
    Tail tail = tails == null ? null : tails.get(key);
    if (tail != null && tail.end() == offset) {
      return tail.last().isMessage() ? tail.last().place() : -1;
    }
    try (Entries entries = new Entries(queue.files())) {
      return entries.message(offset - 1, offset);
    }
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
    Map<QueueKey, long[]> found = new LinkedHashMap<>();
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
      found.put(entry.getKey(), Ranges.requested(options, broker, entry.getKey(), entry.getValue()));
    }
    return found;
  }
}
