package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.cache.Cache;
import io.github.rocketwire.spark.store.RowFile;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * A part of one store's commit log, and the way to find the messages in it.
 *
 * @param start physical offset of the first byte of the part; the spans of one plan do not overlap
 * @param files the commit log files that are read
 * @param queues the entries that point to the messages; null: the log itself is walked
 * @param places physical offsets of the messages, in place of queues; null: unknown
 * @param entriesOnly the entries have all requested values, so that the log is not read
 * @param cache columns that have the messages of the part; null: none
 */
public record LogSpan(
    String broker,
    long start,
    long end,
    List<RowFile> files,
    List<QueueRange> queues,
    long[] places,
    boolean entriesOnly,
    Cache cache)
    implements InputPartition {
  /** A part that is read without columns beside the store. */
  public LogSpan(
      String broker, long start, long end, List<RowFile> files, List<QueueRange> queues, long[] places,
      boolean entriesOnly) {
    this(broker, start, end, files, queues, places, entriesOnly, null);
  }

  /** A part that is read from columns beside the store, which have all its messages. */
  static LogSpan cached(String broker, long start, long end, List<RowFile> files, Cache cache) {
    return new LogSpan(broker, start, end, List.copyOf(files), null, null, false, cache);
  }
}
