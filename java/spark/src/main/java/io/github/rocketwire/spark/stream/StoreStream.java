package io.github.rocketwire.spark.stream;

import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.plan.Planner;
import io.github.rocketwire.spark.plan.Stores;
import io.github.rocketwire.spark.read.Readers;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Directory;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.store.Snapshot;
import io.github.rocketwire.spark.stream.QueueOffsets.LastRead;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
<<<<<<< HEAD
=======
import java.util.TreeSet;
import org.apache.spark.sql.connector.read.InputPartition;
>>>>>>> stream
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

<<<<<<< HEAD
/** Follows the consume queues of stores. Each poll opens the stores again. */
public final class StoreStream extends QueueStream<List<Snapshot>> {
=======
/**
 * Follows the consume queues of stores. An offset is that of each queue's next message, so that a repeated micro-batch
 * reads the same messages again. Each poll opens the stores again, and looks for the ends of queues from the former ones
 * on.
 */
public final class StoreStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
>>>>>>> stream
  private static final String REPLACED =
      "Was the store replaced? Begin with a new checkpointLocation, or set failOnDataLoss to false";
  private static final String OTHERWISE =
      "Use spark.read in place of readStream, or read from the running broker: option namesrv";

<<<<<<< HEAD
=======
  private final Request request;
  private final Options options;
  private Map<MessageQueue, Long> target;
  private Map<MessageQueue, Long> latest;
  /** The last look at the stores, and the end that a poll found by it. */
  private List<Snapshot> polled = List.of();
  private QueueOffsets polledEnd;

>>>>>>> stream
  public StoreStream(Request request) {
    super(request, REPLACED);
  }

<<<<<<< HEAD
  @Override
  protected <T> T ask(Question<List<Snapshot>, T> question) {
=======
  /** Asks the stores something; errors of files become those of the data source. */
  private interface Question<T> {
    T ask(List<Snapshot> stores) throws IOException;
  }

  private <T> T ask(Question<T> question) {
    return ask(Stores.open(options, polled), question);
  }

  private <T> T ask(List<Snapshot> stores, Question<T> question) {
    polled = stores;
>>>>>>> stream
    try {
      return question.ask(stores);
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
<<<<<<< HEAD
  protected Set<String> replaced(List<Snapshot> stores, Map<String, LastRead> last) throws IOException {
=======
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return ask(stores -> {
      QueueOffsets from = (QueueOffsets) start;
      Set<String> replaced = replaced(stores, from.last);
      Map<MessageQueue, Long> begun = without(replaced, from.offsets);
      Map<String, LastRead> last = new HashMap<>(from.last);
      last.keySet().removeAll(replaced);
      Map<MessageQueue, Long> found = new TreeMap<>(begun);
      found.putAll(taken(stores, begun, replaced, limit));
      polledEnd = new QueueOffsets(found, newest(stores, begun, found, last));
      return polledEnd;
    });
  }

  private Map<MessageQueue, Long> taken(
      List<Snapshot> stores, Map<MessageQueue, Long> begun, Set<String> replaced, ReadLimit limit) throws IOException {
    Map<MessageQueue, long[]> there = bounds(stores);
    latest = new TreeMap<>(begun);
    there.forEach((queue, range) -> latest.put(queue, range[1]));
    Map<MessageQueue, long[]> ranges = ranges(stores, begun, there, replaced);
    if (limit instanceof ReadAllAvailable) {
      return Admission.ends(stores, ranges, null, null);
    }
    Long rows = options.maxOffsetsPerTrigger;
    if (limit instanceof ReadMaxRows most) {
      rows = rows == null ? most.maxRows() : Math.min(rows, most.maxRows());
    }
    return Admission.ends(stores, ranges, rows, options.maxBytesPerTrigger);
  }

  /** The brokers whose store does not have the message that was read last. */
  private Set<String> replaced(List<Snapshot> stores, Map<String, LastRead> last) throws IOException {
>>>>>>> stream
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
    for (Snapshot store : stores) {
      LastRead read = LastMessages.newest(store, begun, ends);
      LastRead former = found.get(store.broker);
      if (read != null && (former == null || former.physicalOffset() < read.physicalOffset())) {
        found.put(store.broker, read);
      }
    }
    return found;
  }

  /** Those of stores that were replaced since begin anew, or wait for the next poll. */
  @Override
<<<<<<< HEAD
  protected List<LogSpan> plan(List<Snapshot> stores, QueueOffsets from, QueueOffsets to) throws IOException {
    Set<String> gone = replaced(stores, to.last);
    Map<String, LastRead> first = new HashMap<>(from.last);
    first.entrySet().removeIf(entry -> entry.getValue().equals(to.last.get(entry.getKey())));
    Set<String> anew = replaced(stores, first);
    return plan(stores, without(anew, from.offsets), without(gone, to.offsets));
=======
  public Offset reportLatestOffset() {
    return latest == null ? null : new QueueOffsets(latest, Map.of());
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    target = new TreeMap<>();
    ask(this::bounds).forEach((queue, range) -> target.put(queue, range[1]));
  }

  /** How far the stream is behind its queues, named as Kafka's source names them. */
  @Override
  public Map<String, String> metrics(Optional<Offset> consumed) {
    if (latest == null || consumed.isEmpty()) {
      return Map.of();
    }
    Map<MessageQueue, Long> read = consumed.get() instanceof QueueOffsets own
        ? own.offsets
        : QueueOffsets.parse(consumed.get().json()).offsets;
    LongSummaryStatistics behind = latest.entrySet().stream()
        .mapToLong(entry -> Math.max(0, entry.getValue() - read.getOrDefault(entry.getKey(), entry.getValue())))
        .summaryStatistics();
    if (behind.getCount() == 0) {
      return Map.of();
    }
    return Map.of(
        "minOffsetsBehindLatest", Long.toString(behind.getMin()),
        "maxOffsetsBehindLatest", Long.toString(behind.getMax()),
        "avgOffsetsBehindLatest", Double.toString(behind.getAverage()),
        "offsetsBehindLatest", Long.toString(behind.getSum()));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    QueueOffsets from = (QueueOffsets) start;
    QueueOffsets to = (QueueOffsets) end;
    // What was polled a moment ago is planned by the same look at the stores.
    List<Snapshot> looked = end == polledEnd ? polled : Stores.open(options, polled);
    return ask(looked, stores -> {
      // Those of stores that were replaced since begin anew, or wait for the next poll.
      Set<String> gone = replaced(stores, to.last);
      Map<String, LastRead> first = new HashMap<>(from.last);
      first.entrySet().removeIf(entry -> entry.getValue().equals(to.last.get(entry.getKey())));
      Set<String> anew = replaced(stores, first);
      return plan(stores, without(anew, from.offsets), without(gone, to.offsets));
    }).toArray(InputPartition[]::new);
>>>>>>> stream
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
    Map<MessageQueue, long[]> found = new TreeMap<>();
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
            where + ": the broker fills its queues anew after a crash",
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
