package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Entries;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.QueueFiles;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Splits a read into tasks: by entries alone if they have all columns, by columns beside the store likewise, by the places in entries if topics, queues,
 * offsets or tags are restricted, by ids, else by a walk over the log. After a crash queues may lack what the log has, so
 * then the log is walked.
 */
public final class Planner {
  /** Entries that are sampled for the mean size of a queue's messages. */
  private static final int SAMPLED = 8;
  /** A span consists of about so many parts: more parts make the spans more even. */
  private static final int PARTS = 16;
  /** The cost of an entry if the log is not read: a row costs more than its 20 bytes. */
  private static final int ENTRY_COST = 64;

  private Planner() {}

  /**
   * The tasks of a read.
   *
   * @param top only what can be among these rows needs to be read; null: everything
   */
  public static List<LogSpan> plan(List<Snapshot> stores, Request whole, TopN top) throws IOException {
    Options options = whole.options;
    if (options.starting != null && "latest".equals(options.starting.word())
        || options.ending != null && "earliest".equals(options.ending.word())) {
      return List.of();
    }
    Request request = top == null ? whole : top.narrowed(stores, whole);
    long total = stores.stream().mapToLong(store -> Math.max(1, store.end - store.start)).sum();
    List<LogSpan> spans = new ArrayList<>();
    for (Snapshot store : stores) {
      long size = Math.max(1, store.end - store.start);
      long least = -Math.floorDiv(-(long) (options.minPartitions * (double) size), total);
      spans.addAll(planStore(store, request, Math.max(1, least)));
    }
    return spans;
  }

  /** Whether consume queues alone answer a request for these columns in each store. */
  public static boolean byEntriesAlone(List<Snapshot> stores, Request request) {
    return request.needsNoLog() && stores.stream().allMatch(store -> {
      Set<String> topics = topicsByQueues(store, request);
      return topics != null && topics.stream().noneMatch(topic -> topic.startsWith(Facts.LIGHT_QUEUE_PREFIX));
    });
  }

  private static List<LogSpan> planStore(Snapshot store, Request request, long least) throws IOException {
    if (request.hasIds()) {
      return IdPlan.plan(store, request, least);
    }
    boolean byQueues = request.needsNoLog() || request.isWorthQueues();
    Map<QueueKey, long[]> ranges = byQueues ? ranges(store, request) : null;
    if (ranges == null) {
      return cachedOrWalked(store, request, least);
    }
    boolean entriesOnly =
        request.needsNoLog() && ranges.keySet().stream().noneMatch(key -> key.topic().startsWith(Facts.LIGHT_QUEUE_PREFIX));
    if (!entriesOnly && !request.isWorthQueues()) {
      return cachedOrWalked(store, request, least);
    }
    List<LogSpan> cached = entriesOnly ? null : CachePlan.plan(store, request, least);
    if (cached != null) {
      return cached;
    }
    return planRanges(
        store, narrowed(store, request, ranges), request.options.maxBytesPerPartition, least, entriesOnly);
  }

  /** The requested offsets of the selected queues; null unless these point to all messages of their topics. */
  static Map<QueueKey, long[]> ranges(Snapshot store, Request request) throws IOException {
    Set<String> topics = topicsByQueues(store, request);
    if (topics == null) {
      return null;
    }
    Map<QueueKey, long[]> ranges = new TreeMap<>();
    store.selected(request.options).forEach((key, range) -> {
      if (topics.contains(key.topic()) && request.takesQueue(key.queueId())) {
        ranges.put(key, range);
      }
    });
    return ranges;
  }

  private static List<LogSpan> cachedOrWalked(Snapshot store, Request request, long least) throws IOException {
    List<LogSpan> cached = CachePlan.plan(store, request, least);
    return cached == null ? WalkPlan.plan(store, request, least, null) : cached;
  }

  /** The selected topics, if consume queues point to all their messages; else null. */
  private static Set<String> topicsByQueues(Snapshot store, Request request) {
    if (!store.isWhole()) {
      return null;
    }
    Set<String> wanted = request.topics();
    if (wanted == null) {
      return store.queuesComplete()
          ? store.files().keySet().stream().map(QueueKey::topic).filter(request::takesTopic).collect(Collectors.toSet())
          : null;
    }
    Set<String> withQueues = wanted.stream().filter(store::hasQueues).collect(Collectors.toSet());
    // A topic without a message has no queue; messages of a deleted topic are found by a walk only.
    Set<String> known = store.topics() == null ? new TreeSet<>() : store.topics();
    known.addAll(request.options.topics);
    boolean deleted = wanted.stream()
        .filter(topic -> !withQueues.contains(topic))
        .anyMatch(topic -> !known.contains(topic) || store.directory.topics.contains(topic));
    return withQueues.equals(wanted) || store.queuesComplete() && !deleted ? withQueues : null;
  }

  /** The parts of ranges that can contain the filtered values and times. */
  public static Map<QueueKey, long[]> narrowed(Snapshot store, Request request, Map<QueueKey, long[]> ranges)
      throws IOException {
    long since = request.sinceByClock();
    long until = request.untilByClock();
    boolean timed = request.hasTimes();
    Map<QueueKey, long[]> found = new TreeMap<>();
    try (Log log = new Log(store.directory.commitLog)) {
      for (var entry : ranges.entrySet()) {
        long first = Math.max(entry.getValue()[0], request.narrowed.firstOffset);
        long end = Math.min(entry.getValue()[1], request.narrowed.endOffset);
        QueueFiles files = store.files().get(entry.getKey());
        if (first < end && (request.hasTimes() || request.narrowed.hasPlaces()) && files != null) {
          try (Entries entries = new Entries(files.files())) {
            // If a time cannot be read, the range is widened.
            first = entries.bisectPlaces(first, end, place ->
                place < request.narrowed.firstPlace || timed && time(log, place, Long.MAX_VALUE) < since);
            end = entries.bisectPlaces(first, end, place ->
                place < request.narrowed.endPlace && (!timed || time(log, place, -Long.MAX_VALUE) < until));
          }
        }
        if (first < end) {
          found.put(entry.getKey(), new long[] {first, end});
        }
      }
    }
    return found;
  }

  static long time(Log log, long place, long otherwise) {
    try {
      return log.storeTime(place, otherwise);
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  /** The tasks that read ranges of queue offsets, each message once. */
  public static List<LogSpan> planRanges(
      Snapshot store, Map<QueueKey, long[]> ranges, long maxBytes, long least, boolean entriesOnly) throws IOException {
    List<QueueRange> queues = new ArrayList<>();
    long total = 0;
    List<Long> weights = new ArrayList<>();
    for (var entry : ranges.entrySet()) {
      QueueFiles files = store.files().get(entry.getKey());
      long[] range = entry.getValue();
      if (files != null && range[0] < range[1]) {
        QueueRange queue = QueueRange.whole(files).part(range[0], range[1]);
        queues.add(queue);
        weights.add(weight(queue, entriesOnly));
        total += weights.get(weights.size() - 1);
      }
    }
    if (queues.isEmpty()) {
      return List.of();
    }
    long target = Math.max(1, Math.min(maxBytes, -Math.floorDiv(-total, least)));
    TreeSet<Long> cuts = total > target ? cuts(queues, weights, target) : new TreeSet<>();
    List<Long> inside = cuts.stream().filter(cut -> store.start < cut && cut < store.end).toList();
    List<List<QueueRange>> parts = new ArrayList<>();
    for (int i = 0; i <= inside.size(); i++) {
      parts.add(new ArrayList<>());
    }
    for (QueueRange queue : queues) {
      split(queue, inside, parts);
    }
    List<LogSpan> spans = new ArrayList<>();
    for (int i = 0; i < parts.size(); i++) {
      long start = i == 0 ? store.start : inside.get(i - 1);
      long end = i == inside.size() ? store.end : inside.get(i);
      if (!parts.get(i).isEmpty()) {
        spans.add(new LogSpan(store.broker, start, end, files(store, start, end), parts.get(i), null, entriesOnly));
      }
    }
    return spans;
  }

  static List<RowFile> files(Snapshot store, long start, long end) {
    return List.copyOf(store.directory.commitLog.stream()
        .filter(file -> file.end() > start && file.start() < end)
        .toList());
  }

  /** The cost of reading a range: the bytes of its messages, estimated by the mean of a few. */
  public static long weight(QueueRange queue, boolean entriesOnly) throws IOException {
    long count = queue.end() - queue.first();
    if (entriesOnly) {
      return count * ENTRY_COST;
    }
    long sum = 0;
    long number = 0;
    try (Entries entries = new Entries(queue.files())) {
      for (int n = 0; n < Math.min(SAMPLED, count); n++) {
        int size = entries.safe(queue.first() + count * n / SAMPLED).size();
        if (size > 0 && size < Entries.BLANK) {
          sum += size;
          number++;
        }
      }
    }
    return number == 0 ? count : count * (sum / number);
  }

  /** Physical offsets between which messages of the ranges take about {@code target} bytes. */
  private static TreeSet<Long> cuts(List<QueueRange> queues, List<Long> weights, long target) throws IOException {
    List<double[]> places = new ArrayList<>();
    for (int i = 0; i < queues.size(); i++) {
      QueueRange queue = queues.get(i);
      long length = queue.end() - queue.first();
      long steps = Math.min(length, Math.max(1, -Math.floorDiv(-weights.get(i) * PARTS, target)));
      try (Entries entries = new Entries(queue.files())) {
        for (long step = 0; step < steps; step++) {
          long place = entries.safe(queue.first() + length * step / steps).place();
          places.add(new double[] {place, (double) weights.get(i) / steps});
        }
      }
    }
    places.sort((one, other) -> Double.compare(one[0], other[0]));
    TreeSet<Long> cuts = new TreeSet<>();
    double reached = 0;
    double mark = target;
    for (double[] place : places) {
      if (reached >= mark) {
        cuts.add((long) place[0]);
        while (mark <= reached) {
          mark += target;
        }
      }
      reached += place[1];
    }
    return cuts;
  }

  /** Puts the parts of a range between cuts into the parts of the plan: together they are the range. */
  private static void split(QueueRange queue, List<Long> cuts, List<List<QueueRange>> parts) throws IOException {
    long first = queue.first();
    int number = 0;
    long[] sorted = cuts.stream().mapToLong(Long::longValue).toArray();
    try (Entries entries = new Entries(queue.files())) {
      while (first < queue.end() && number < sorted.length) {
        long place = entries.message(first, queue.end());
        if (place < 0) {
          break;
        }
        int at = Arrays.binarySearch(sorted, place);
        number = Math.max(number, at >= 0 ? at + 1 : -at - 1);
        if (number == sorted.length) {
          break;
        }
        long cut = sorted[number];
        long end = entries.bisectPlaces(first, queue.end(), one -> one < cut);
        if (end > first) {
          parts.get(number).add(queue.part(first, end));
        }
        first = end;
        number++;
      }
    }
    if (first < queue.end()) {
      parts.get(sorted.length).add(queue.part(first, queue.end()));
    }
  }
}
