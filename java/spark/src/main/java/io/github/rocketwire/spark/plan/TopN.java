package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.request.Narrowed;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Entries;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.QueueFiles;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;

/**
 * The first rows in the order of a column: what needs to be read for them.
 *
 * <p>Theory: any so many existing messages give a bound: rows beyond the last of them, in that order, are not among the
 * first. Candidates are those at the ends of consume queues, whose records are read. So the read is narrowed as a
 * filter would narrow it; Spark sorts the rest, and takes as many as it wants.
 *
 * @param column queue_offset, physical_offset or store_timestamp
 * @param count how many rows are wanted
 */
public record TopN(String column, boolean descending, int count) {
  private static final List<String> COLUMNS = List.of("queue_offset", "physical_offset", "store_timestamp");
  /** More are not read singly. */
  private static final int MOST = 1000;
  /** Entries of all queues that are read; of each queue one at least. */
  private static final int MOST_ENTRIES = 1 << 17;

  /** A message: its value in the column, and where its record is. */
  private record Candidate(long value, long place, int size) {}

  /** What Spark pushes; null if it is no order that narrows a read. Further columns only order rows of equal values. */
  public static TopN of(SortOrder[] orders, int count) {
    if (orders.length == 0 || count > MOST || !(orders[0].expression() instanceof NamedReference reference)) {
      return null;
    }
    String[] names = reference.fieldNames();
    // Rows of damaged places have nulls, but for the place. Where these come first it is not known how many there are.
    boolean isFit = orders[0].nullOrdering() == NullOrdering.NULLS_LAST || names[0].equals("physical_offset");
    return isFit && names.length == 1 && COLUMNS.contains(names[0])
        ? new TopN(names[0], orders[0].direction() == SortDirection.DESCENDING, count)
        : null;
  }

  /** The request narrowed to what can be among the first; as it is, if there are not so many candidates. */
  Request narrowed(List<Snapshot> stores, Request request) throws IOException {
    // A walk does not know the queue offsets of damaged places, and queues do: the way of the read must not change.
    boolean isByQueues = request.needsNoLog() || request.isWorthQueues();
    if (request.hasIds() || column.equals("queue_offset") && !isByQueues) {
      return request;
    }
    List<Candidate> found = new ArrayList<>();
    for (Snapshot store : stores) {
      Map<QueueKey, long[]> ranges = Planner.ranges(store, request);
      if (ranges == null) {
        return request;
      }
      candidates(store, request, Planner.narrowed(store, request, ranges), found);
    }
    if (found.size() < count) {
      return request;
    }
    found.sort(order());
    Narrowed bounded = request.narrowed.copy();
    Candidate last = found.get(count - 1);
    switch (column) {
      case "queue_offset" -> bounded.offsets(
          descending ? last.value : 0, descending ? Request.FOREVER : last.value + 1);
      case "store_timestamp" -> bounded.times(
          descending ? last.value : -Request.FOREVER, descending ? Request.FOREVER : last.value + 1);
      default -> bounded.places(descending ? last.place : 0, descending ? Request.FOREVER : last.place + last.size);
    }
    return new Request(request.options, bounded, request.columns);
  }

  private Comparator<Candidate> order() {
    Comparator<Candidate> rising = Comparator.comparingLong(Candidate::value);
    return descending ? rising.reversed() : rising;
  }

  /** Adds the wanted number of a store's messages, nearest to the end of the order by their queue entries. */
  private void candidates(Snapshot store, Request request, Map<QueueKey, long[]> ranges, List<Candidate> found)
      throws IOException {
    long each = Math.max(1, Math.min(count, MOST_ENTRIES / Math.max(1, ranges.size())));
    List<Candidate> entries = new ArrayList<>();
    for (Map.Entry<QueueKey, long[]> entry : ranges.entrySet()) {
      QueueFiles files = store.files().get(entry.getKey());
      if (files != null) {
        long first = entry.getValue()[0];
        long end = entry.getValue()[1];
        long from = descending ? Math.max(first, end - each) : first;
        long to = descending ? end : Math.min(end, first + each);
        try (Entries queue = new Entries(files.files())) {
          queue.written(from, to, (offset, place, size, code) -> entries.add(
              new Candidate(column.equals("queue_offset") ? offset : place, place, size)));
        }
      }
    }
    entries.sort(order());
    int added = 0;
    try (Log log = new Log(store.directory.commitLog)) {
      for (Candidate one : entries) {
        Candidate there = added < count ? there(log, store, request, one) : null;
        if (there != null) {
          found.add(there);
          added++;
        }
      }
    }
  }

  /** The candidate with its value, if its record exists and is selected. */
  private Candidate there(Log log, Snapshot store, Request request, Candidate one) throws IOException {
    if (one.place < store.start || one.place + one.size > store.end) {
      return null;
    }
    byte[] data = log.read(one.place, one.size);
    Record.Parts parts = new Record.Parts();
    boolean isWhole = data.length == one.size
        && one.size >= Facts.RECORD_SMALLEST
        && Record.int32(data, 0) == one.size
        && Record.fault(data, 0, data.length, one.place, parts) == null;
    if (isWhole && request.has("body")) {
      // A row whose body is damaged has no time, or is omitted.
      boolean isCompressed = (Record.int32(data, Facts.RECORD_SYS_FLAG_AT) & Facts.SYS_FLAG_COMPRESSED) != 0;
      isWhole = !isCompressed && Record.isBodyGood(data, 0, parts.body);
    }
    Long time = isWhole ? Record.storeTime(data, one.place) : null;
    if (time == null || time < request.since() || time >= request.until()) {
      return null;
    }
    return column.equals("store_timestamp") ? new Candidate(time, one.place, one.size) : one;
  }
}
