package io.github.rocketwire.spark.read;

import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Ends after the batch that reaches a limit; Spark counts again. */
public final class Limited implements PartitionReader<ColumnarBatch> {
  private final PartitionReader<ColumnarBatch> reader;
  private long left;

  private Limited(PartitionReader<ColumnarBatch> reader, int limit) {
    this.reader = reader;
    left = limit;
  }

  /** A reader with a limit; the reader itself where that is {@link Integer#MAX_VALUE}. */
  public static PartitionReader<ColumnarBatch> of(PartitionReader<ColumnarBatch> reader, int limit) {
    return limit == Integer.MAX_VALUE ? reader : new Limited(reader, limit);
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
