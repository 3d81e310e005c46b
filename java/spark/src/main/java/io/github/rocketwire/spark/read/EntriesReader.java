package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.columns.Computed;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Request;
import java.util.List;
import java.util.function.IntFunction;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads rows from consume queues alone, without reading the log: one batch. */
final class EntriesReader extends OneBatchReader {
  private final List<String> columns;

  EntriesReader(LogSpan span, Request request) {
    super(span, request);
    columns = request.columns;
  }

  @Override
  protected ColumnarBatch made(Found found) {
    ColumnVector[] vectors = columns.stream().map(name -> column(found, name)).toArray(ColumnVector[]::new);
    return new ColumnarBatch(vectors, found.count);
  }

  private ColumnVector column(Found found, String name) {
    UTF8String[] topics = texts(span.queues().size(), i -> span.queues().get(i).topic());
    UTF8String[] files = texts(span.files().size(), i -> span.files().get(i).path());
    int[] numbers = span.queues().stream().mapToInt(queue -> queue.queueId()).toArray();
    UTF8String broker = UTF8String.fromString(span.broker());
    return switch (name) {
      case "topic" -> Computed.texts(row -> topics[found.queue[row]]);
      case "file" -> Computed.texts(row -> files[found.file[row]]);
      case "broker" -> Computed.texts(row -> broker);
      case "queue_id" -> Computed.ints(row -> numbers[found.queue[row]]);
      case "store_size" -> Computed.ints(row -> found.size[row]);
      case "queue_offset" -> Computed.longs(row -> found.queueOffset[row]);
      case "physical_offset" -> Computed.longs(row -> found.place[row]);
      default -> throw new IllegalArgumentException(name + " is none of " + Columns.OF_QUEUES);
    };
  }

  private static UTF8String[] texts(int count, IntFunction<String> text) {
    UTF8String[] found = new UTF8String[count];
    for (int i = 0; i < count; i++) {
      found[i] = UTF8String.fromString(text.apply(i));
    }
    return found;
  }
}
