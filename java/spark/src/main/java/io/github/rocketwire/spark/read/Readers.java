package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Request;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Makes the readers of tasks; sent to the executors. */
public record Readers(Request request, Aggregated aggregated, int limit) implements ColumnarReaders {
  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    LogSpan span = (LogSpan) partition;
    if (aggregated != null) {
      return new AggregateReader(span, request, aggregated);
    }
    PartitionReader<ColumnarBatch> reader;
    if (span.places() != null) {
      reader = new PlacesReader(span, request);
    } else if (span.cache() != null) {
      reader = new CachedReader(span, request);
    } else if (span.queues() == null) {
      reader = new WalkReader(span, request);
    } else if (span.entriesOnly()) {
      reader = new EntriesReader(span, request);
    } else {
      reader = new GatherReader(span, request);
    }
    return ColumnarReaders.limited(reader, limit);
  }
}
