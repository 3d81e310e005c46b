package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Directory;
import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads the rows of one task, block by block; each kind of read has a subclass. */
public abstract class BlockReader implements PartitionReader<ColumnarBatch> {
  /** Bytes read at once: few enough to stay in the processor's cache until they are rows. */
  protected static final int BLOCK = 2 << 20;

  protected final Request request;
  protected final Rows rows;
  private ColumnarBatch batch;
  private boolean ended;

  protected BlockReader(Request request, String broker) {
    this.request = request;
    rows = new Rows(request, broker);
  }

  /** Gives {@link #rows} some more records; false at the end. */
  protected abstract boolean more() throws IOException;

  /** The error of the data source for one of reading. */
  protected RuntimeException failure(IOException error) {
    return Directory.unreadable(error);
  }

  @Override
  public boolean next() {
    try {
      while (true) {
        batch = rows.next();
        if (batch != null) {
          return true;
        }
        if (ended) {
          return false;
        }
        ended = !more();
      }
    } catch (IOException error) {
      throw failure(error);
    }
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public void close() throws IOException {
    rows.close();
  }
}
