package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Directory;
import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Makes one batch of the entries of consume queues that one task reads; none where it has no rows. */
abstract class OneBatchReader implements PartitionReader<ColumnarBatch> {
  protected final LogSpan span;
  private final Request request;
  private ColumnarBatch batch;

  protected OneBatchReader(LogSpan span, Request request) {
    this.span = span;
    this.request = request;
  }

  /** The batch. */
  protected abstract ColumnarBatch made(Found found);

  @Override
  public boolean next() {
    if (batch != null) {
      return false;
    }
    try {
      batch = made(new Found(span, request));
    } catch (IOException error) {
      throw Directory.unreadable(error);
    }
    return batch.numRows() > 0;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public void close() {}
}
