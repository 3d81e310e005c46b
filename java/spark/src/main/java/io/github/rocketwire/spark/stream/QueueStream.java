package io.github.rocketwire.spark.stream;

import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.stream.QueueOffsets.LastRead;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/**
 * The common part of streams of stores and of endpoints: the progress of each queue, and the end of a micro-batch.
 *
 * <p>An offset is that of each queue's next message, so that a repeated micro-batch reads the same messages again. Queues
 * that appear while a stream runs are read from their first message on; the offsets of those that disappear are kept, so
 * that nothing is read twice when they are back.
 *
 * @param <S> the source: stores that are opened for each poll, or a cluster
 */
public abstract class QueueStream<S> implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  protected static final String REMOVED =
      "The broker removed them before they were read; set failOnDataLoss to false to go on without them";

  protected final Request request;
  protected final Options options;
  /** What helps where a queue has fewer messages than were read of it. */
  protected final String remedy;

  private Map<MessageQueue, Long> target;
  private Map<MessageQueue, Long> latest;
  /** The end that the last poll found. */
  private QueueOffsets polled;

  protected QueueStream(Request request, String remedy) {
    this.request = request;
    this.remedy = remedy;
    options = request.options;
    if (options.ending != null || options.until != null) {
      String name = options.ending != null ? "endingOffsets" : "endingTimestamp";
      throw new SourceException(
          SourceException.OPTION_INVALID,
          "a stream has no option " + name,
          "Leave it out, or use spark.read in place of readStream");
    }
  }

  /** A query of a source. */
  protected interface Query<S, T> {
    T run(S source) throws IOException;
  }

  /** Runs a query of the source; its errors become those of the data source. */
  protected abstract <T> T run(Query<S, T> query);

  /** Runs a query of the source as it was last, if that is known, instead of reading it again. */
  protected <T> T runAgain(Query<S, T> query) {
    return run(query);
  }

  /** Where a stream without a checkpoint begins, by its options. */
  protected abstract Map<MessageQueue, Long> begin(S source) throws IOException;

  /** The requested offsets that each queue has. */
  protected abstract Map<MessageQueue, long[]> bounds(S source) throws IOException;

  /** Where each range ends when no more than so many messages, and bytes of them, are taken of all; null for any. */
  protected abstract Map<MessageQueue, Long> admitted(
      S source, Map<MessageQueue, long[]> ranges, Long rows, Long size) throws IOException;

  /** The tasks that read the messages between two offsets. */
  protected abstract List<? extends InputPartition> plan(S source, QueueOffsets from, QueueOffsets to)
      throws IOException;

  /** A queue, in errors. */
  protected String named(MessageQueue queue) {
    return queue.toString();
  }

  /** The brokers whose store does not have the message that was read last; none where it is unknown. */
  protected Set<String> replaced(S source, Map<String, LastRead> last) throws IOException {
    return Set.of();
  }

  /** Of each broker the message farthest in its log, of those read before and those between two offsets. */
  protected Map<String, LastRead> newest(
      S source, Map<MessageQueue, Long> begun, Map<MessageQueue, Long> ends, Map<String, LastRead> before)
      throws IOException {
    return before;
  }

  /** Whether missing entries of a queue will be written again. */
  protected boolean isLagging(S source, MessageQueue queue) throws IOException {
    return false;
  }

  @Override
  public Offset initialOffset() {
    return run(source -> {
      Map<MessageQueue, Long> found = begin(source);
      return new QueueOffsets(found, newest(source, Map.of(), found, Map.of()));
    });
  }

  @Override
  public Offset deserializeOffset(String json) {
    return QueueOffsets.parse(json);
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    if (options.maxOffsetsPerTrigger != null) {
      return ReadLimit.maxRows(options.maxOffsetsPerTrigger);
    }
    // A limit of bytes is not known to Spark 3.5.
    return options.maxBytesPerTrigger == null ? ReadLimit.allAvailable() : ReadLimit.maxRows(Long.MAX_VALUE);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("use latestOffset(Offset, ReadLimit)");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return run(source -> {
      QueueOffsets from = (QueueOffsets) start;
      Set<String> replaced = replaced(source, from.last);
      Map<MessageQueue, Long> begun = without(replaced, from.offsets);
      Map<String, LastRead> last = new HashMap<>(from.last);
      last.keySet().removeAll(replaced);
      Map<MessageQueue, Long> taken = taken(source, begun, replaced, limit);
      Map<MessageQueue, Long> found = new TreeMap<>(begun);
      // Most are known queues: replacing their offsets in order takes no search.
      found.replaceAll((queue, offset) -> Objects.requireNonNullElse(taken.remove(queue), offset));
      found.putAll(taken);
      polled = new QueueOffsets(found, newest(source, begun, found, last));
      return polled;
    });
  }

  private Map<MessageQueue, Long> taken(
      S source, Map<MessageQueue, Long> begun, Set<String> replaced, ReadLimit limit) throws IOException {
    Map<MessageQueue, long[]> there = bounds(source);
    latest = new HashMap<>(begun);
    there.forEach((queue, range) -> latest.put(queue, range[1]));
    Map<MessageQueue, long[]> ranges = ranges(source, begun, there, replaced);
    if (limit instanceof ReadAllAvailable) {
      Map<MessageQueue, Long> ends = new HashMap<>();
      ranges.forEach((queue, range) -> ends.put(queue, range[1]));
      return ends;
    }
    Long rows = options.maxOffsetsPerTrigger;
    if (limit instanceof ReadMaxRows most) {
      rows = rows == null ? most.maxRows() : Math.min(rows, most.maxRows());
    }
    return admitted(source, ranges, rows, options.maxBytesPerTrigger);
  }

  /** All unread offsets of each queue. */
  private Map<MessageQueue, long[]> ranges(
      S source, Map<MessageQueue, Long> begun, Map<MessageQueue, long[]> there, Set<String> replaced)
      throws IOException {
    Map<MessageQueue, long[]> found = new LinkedHashMap<>();
    for (Map.Entry<MessageQueue, long[]> entry : there.entrySet()) {
      MessageQueue queue = entry.getKey();
      if (target != null && !target.containsKey(queue)) {
        continue;
      }
      long least = entry.getValue()[0];
      long most = entry.getValue()[1];
      Long first = begun.get(queue);
      long end = target == null ? most : Math.min(most, target.get(queue));
      if (replaced.contains(queue.broker())) {
        first = least;
      } else if (first == null) {
        // A new queue is recorded, and read in the next micro-batch: so the checkpoint has its start, and messages that
        // are removed in between are reported as missing.
        first = least;
        end = least;
      } else if (first > most) {
        if (isLagging(source, queue)) {
          continue;
        }
        String what = named(queue) + " ends at offset " + most + ", and was read up to " + first;
        Ranges.lost(what, options.failOnDataLoss, remedy);
        first = least;
      }
      found.put(queue, new long[] {first, Math.max(first, end)});
    }
    return found;
  }

  /** Offsets less those of these brokers. */
  protected static Map<MessageQueue, Long> without(Set<String> brokers, Map<MessageQueue, Long> offsets) {
    Map<MessageQueue, Long> found = new TreeMap<>(offsets);
    if (!brokers.isEmpty()) {
      found.keySet().removeIf(queue -> brokers.contains(queue.broker()));
    }
    return found;
  }

  @Override
  public Offset reportLatestOffset() {
    return latest == null ? null : new QueueOffsets(latest, Map.of());
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    Map<MessageQueue, Long> ends = new TreeMap<>();
    run(this::bounds).forEach((queue, range) -> ends.put(queue, range[1]));
    target = ends;
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
    Query<S, List<? extends InputPartition>> plan =
        source -> plan(source, (QueueOffsets) start, (QueueOffsets) end);
    return (end == polled ? runAgain(plan) : run(plan)).toArray(InputPartition[]::new);
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}
}
