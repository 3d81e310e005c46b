package io.github.rocketwire.spark.read;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

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
}
