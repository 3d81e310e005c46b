package io.github.rocketwire.spark.read;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Makes the readers of tasks, which give batches of columns; sent to the executors. */
public interface ColumnarReaders extends PartitionReaderFactory {
  @Override
  default boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  default PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("all reads are columnar");
  }

  /** A reader that ends early for a limit; the reader itself where that is {@link Integer#MAX_VALUE}. */
  static PartitionReader<ColumnarBatch> limited(PartitionReader<ColumnarBatch> reader, int limit) {
    return limit == Integer.MAX_VALUE ? reader : new Limited(reader, limit);
  }

  /** Ends after the batch that reaches a limit; Spark counts again. */
  final class Limited implements PartitionReader<ColumnarBatch> {
    private final PartitionReader<ColumnarBatch> reader;
    private long left;

    private Limited(PartitionReader<ColumnarBatch> reader, int limit) {
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
