package io.github.rocketwire.spark.stream;

import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.plan.Planner;
import io.github.rocketwire.spark.plan.Stores;
import io.github.rocketwire.spark.read.Readers;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Directory;
import io.github.rocketwire.spark.store.OpenFileBudget;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.store.Remembered;
import io.github.rocketwire.spark.store.Snapshot;
import io.github.rocketwire.spark.stream.QueueOffsets.LastRead;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** Follows the consume queues of stores; each poll reads what was appended to those that it remembers. */
public final class StoreStream extends QueueStream<List<Snapshot>> {
  private static final String REPLACED =
      "Was the store replaced? Begin with a new checkpointLocation, or set failOnDataLoss to false";
  private static final String OTHERWISE =
      "Use spark.read in place of readStream, or read from the running broker: option namesrv";

  private final OpenFileBudget budget = new OpenFileBudget();
  private final Map<String, Remembered> remembered = new HashMap<>();
  /** The stores at the last query. */
  private List<Snapshot> looked = List.of();

  public StoreStream(Request request) {
    super(request, REPLACED);
  }

  @Override
  protected <T> T run(Query<List<Snapshot>, T> query) {
    looked = Stores.open(options, root -> remembered.computeIfAbsent(root, store -> new Remembered(budget)));
    forget(looked.stream().map(store -> store.directory.root).collect(Collectors.toSet()));
    return runAgain(query);
  }

  /** Forgets the stores but these. */
  private void forget(Set<String> present) {
    for (String root : List.copyOf(remembered.keySet())) {
      if (!present.contains(root)) {
        try {
          remembered.remove(root).close();
        } catch (IOException error) {
          throw Directory.unreadable(error);
        }
      }
    }
  }

  @Override
  public void stop() {
    forget(Set.of());
  }

  @Override
  protected <T> T runAgain(Query<List<Snapshot>, T> query) {
    try {
      return query.run(looked);
    } catch (IOException error) {
      throw Directory.unreadable(error);
    } catch (UncheckedIOException error) {
      throw Directory.unreadable(error.getCause());
    }
  }

  @Override
  protected String named(MessageQueue queue) {
    return queue.topic() + ", queue " + queue.queueId() + " of " + queue.broker();
  }

  @Override
  protected Map<MessageQueue, Long> begin(List<Snapshot> stores) throws IOException {
    Map<MessageQueue, Long> found = new TreeMap<>();
    for (Snapshot store : stores) {
      checkQueues(store);
      Map<QueueKey, long[]> ranges = store.selected(options);
      Map<QueueKey, long[]> narrowed = Planner.narrowed(store, request, ranges);
      ranges.forEach((key, range) -> found.put(
          queue(store, key), narrowed.getOrDefault(key, new long[] {range[1], range[1]})[0]));
    }
    return found;
  }

  @Override
  protected Map<MessageQueue, Long> admitted(
      List<Snapshot> stores, Map<MessageQueue, long[]> ranges, Long rows, Long size) throws IOException {
    return Admission.ends(stores, ranges, rows, size);
  }

  @Override
  protected Set<String> replaced(List<Snapshot> stores, Map<String, LastRead> last) throws IOException {
    Map<String, String> found = LastMessages.differences(stores, last);
    for (String what : found.values()) {
      Ranges.lost(what, options.failOnDataLoss, REPLACED);
    }
    return found.keySet();
  }

  @Override
  protected Map<String, LastRead> newest(
      List<Snapshot> stores,
      Map<MessageQueue, Long> begun,
      Map<MessageQueue, Long> ends,
      Map<String, LastRead> before)
      throws IOException {
    Map<String, LastRead> found = new HashMap<>(before);
    NavigableMap<MessageQueue, Long> sorted = new TreeMap<>(ends);
    for (Snapshot store : stores) {
      LastRead read = LastMessages.newest(store, begun, sorted);
      LastRead former = found.get(store.broker);
      if (read != null && (former == null || former.physicalOffset() < read.physicalOffset())) {
        found.put(store.broker, read);
      }
    }
    return found;
  }

  /** Those of stores that were replaced since begin again, or wait for the next poll. */
  @Override
  protected List<LogSpan> plan(List<Snapshot> stores, QueueOffsets from, QueueOffsets to) throws IOException {
    Set<String> replacedNow = replaced(stores, to.last);
    Map<String, LastRead> first = new HashMap<>(from.last);
    first.entrySet().removeIf(entry -> entry.getValue().equals(to.last.get(entry.getKey())));
    Set<String> replacedOnes = replaced(stores, first);
    return plan(stores, without(replacedOnes, from.offsets), without(replacedNow, to.offsets));
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Readers(request, null, Integer.MAX_VALUE);
  }

  private static MessageQueue queue(Snapshot store, QueueKey key) {
    return new MessageQueue(store.broker, key.topic(), key.queueId());
  }

  /** Refuses stores and topics without consume queues: a stream would silently find nothing in them. */
  private void checkQueues(Snapshot store) {
    // A live broker may be about to create its first queue, or to rebuild all of them.
    boolean noneIsDue = store.directory.hasOtherQueues() || store.directory.state != Directory.State.LIVE;
    if (store.end > store.start && noneIsDue && store.files().isEmpty()) {
      throw new SourceException(
          SourceException.NOT_A_STORE,
          store.directory.root + " has messages and no consume queues, which a stream follows",
          OTHERWISE);
    }
    for (String topic : options.topics) {
      if (store.directory.batchQueues.stream()
          .anyMatch(queue -> queue.topic().equals(topic) && !queue.files().isEmpty())) {
        throw new SourceException(
            SourceException.TOPIC_UNKNOWN,
            topic + " is a batch topic of 5.x, whose queues no stream can follow",
            OTHERWISE);
      }
    }
  }

  @Override
  protected Map<MessageQueue, long[]> bounds(List<Snapshot> stores) throws IOException {
    Map<MessageQueue, long[]> found = new LinkedHashMap<>();
    for (Snapshot store : stores) {
      store.selectedBounds(options).forEach((key, range) -> found.put(queue(store, key), range));
    }
    return found;
  }

  @Override
  protected boolean isLagging(List<Snapshot> stores, MessageQueue queue) throws IOException {
    for (Snapshot store : stores) {
      if (store.broker.equals(queue.broker()) && Lagging.is(store, new QueueKey(queue.topic(), queue.queueId()))) {
        return true;
      }
    }
    return false;
  }

  private List<LogSpan> plan(List<Snapshot> stores, Map<MessageQueue, Long> begun, Map<MessageQueue, Long> ended)
      throws IOException {
    Map<String, Map<MessageQueue, Long>> endedOf = new TreeMap<>();
    ended.forEach((queue, end) -> endedOf.computeIfAbsent(queue.broker(), name -> new TreeMap<>()).put(queue, end));
    Set<String> absent = new TreeSet<>(endedOf.keySet());
    stores.forEach(store -> absent.remove(store.broker));
    for (String broker : absent) {
      Ranges.lost(
          "the checkpoint has offsets of " + broker + ", and none of the stores is of that broker",
          options.failOnDataLoss,
          REPLACED);
    }
    List<LogSpan> spans = new ArrayList<>();
    for (Snapshot store : stores) {
      Map<QueueKey, long[]> ranges = new TreeMap<>();
      for (Map.Entry<MessageQueue, Long> entry : endedOf.getOrDefault(store.broker, Map.of()).entrySet()) {
        MessageQueue queue = entry.getKey();
        Long first = begun.get(queue);
        if (!entry.getValue().equals(first)) {
          ranges.put(new QueueKey(queue.topic(), queue.queueId()), there(store, queue, first, entry.getValue()));
        }
      }
      spans.addAll(Planner.planRanges(
          store, ranges, options.maxBytesPerPartition, options.minPartitions, request.needsNoLog()));
    }
    return spans;
  }

  /** The part of a range that the store has: all of it, except for lost messages. */
  private long[] there(Snapshot store, MessageQueue queue, Long begun, long end) throws IOException {
    QueueKey key = new QueueKey(queue.topic(), queue.queueId());
    long least = store.bounds(key)[0];
    long most = store.bounds(key)[1];
    // The queue was recorded, or created again: see `ranges`.
    long first = begun == null || begun > end ? least : begun;
    String where = named(queue) + " has the offsets from " + least + " to " + most;
    if (end > most) {
      if (store.directory.state == Directory.State.LIVE && Lagging.is(store, key)) {
        throw new SourceException(
            SourceException.PATH_UNREADABLE,
            where + ": the broker fills its queues again after a crash",
            "Wait until it is ready, and start the query again");
      }
      Ranges.lost(where + ": those up to " + end + " were there before", options.failOnDataLoss, REPLACED);
    }
    if (first < least) {
      Ranges.lost(where + ": those from " + first + " on were to be read", options.failOnDataLoss, REMOVED);
    }
    return new long[] {Math.max(least, first), Math.min(end, most)};
  }
}
