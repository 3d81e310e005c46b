package io.github.rocketwire.spark.plan;

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
 */
public record LogSpan(
    String broker,
    long start,
    long end,
    List<RowFile> files,
    List<QueueRange> queues,
    long[] places,
    boolean entriesOnly)
    implements InputPartition {}
