package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Request;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Makes the readers of tasks; sent to the executors. */
public record Readers(Request request, Aggregated aggregated, int limit) implements PartitionReaderFactory {
  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("all reads are columnar");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    LogSpan span = (LogSpan) partition;
    if (aggregated != null) {
      return new AggregateReader(span, request, aggregated);
    }
    PartitionReader<ColumnarBatch> reader;
    if (span.places() != null) {
      reader = new PlacesReader(span, request);
    } else if (span.queues() == null) {
      reader = new WalkReader(span, request);
    } else if (span.entriesOnly()) {
      reader = new EntriesReader(span, request);
    } else {
      reader = new GatherReader(span, request);
    }
    return limit == Integer.MAX_VALUE ? reader : new Limited(reader, limit);
  }

  /** Ends after the batch that reaches a limit. */
  private static final class Limited implements PartitionReader<ColumnarBatch> {
    private final PartitionReader<ColumnarBatch> reader;
    private long left;

    Limited(PartitionReader<ColumnarBatch> reader, int limit) {
      this.reader = reader;
      left = limit;
    }

    @Override
    public boolean next() throws IOException {
      if (left <= 0 || !reader.next()) {
        return false;
      }
      left -= reader.get().numRows();
      return true;
    }

    @Override
    public ColumnarBatch get() {
      return reader.get();
    }

    @Override
    public void close() throws IOException {
      reader.close();
    }
  }
}
