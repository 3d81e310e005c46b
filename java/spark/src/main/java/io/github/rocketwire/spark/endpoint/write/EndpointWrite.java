package io.github.rocketwire.spark.endpoint.write;

import java.io.Serializable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;

/** Rows into an endpoint, of a frame or a stream: each is sent at least once. */
public final class EndpointWrite implements Write {
  private static final Logger LOG = Logger.getLogger(EndpointWrite.class.getName());
  private final Senders senders;

  private EndpointWrite(Senders senders) {
    this.senders = senders;
  }

  /**
   * Checks options and columns of a write.
   *
   * @throws io.github.rocketwire.spark.SourceException one is wrong
   */
  public static WriteBuilder builder(LogicalWriteInfo info) {
    WriteOptions options = new WriteOptions(info.options().asCaseSensitiveMap());
    WriteColumns.check(info.schema(), options.topic);
    return new Builder(new EndpointWrite(new Senders(info.schema(), options)));
  }

  /** Takes the modes append and update, and refuses to overwrite. */
  private record Builder(Write build) implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
    @Override
    public WriteBuilder truncate() {
      throw WriteColumns.unsupported(
          "messages that were sent cannot be overwritten", "Use mode(\"append\"), in a stream outputMode(\"append\")");
    }
  }

  /** Makes the writer of each task. */
  private record Senders(StructType schema, WriteOptions options)
      implements DataWriterFactory, StreamingDataWriterFactory, Serializable {
    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task) {
      return new RowSender(schema, options);
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
      return new RowSender(schema, options);
    }
  }

  @Override
  public String description() {
    return "rocketmq " + senders.options.endpoint.nameServers;
  }

  @Override
  public BatchWrite toBatch() {
    return new BatchWrite() {
      @Override
      public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return senders;
      }

      @Override
      public void commit(WriterCommitMessage[] messages) {
        LOG.log(Level.INFO, "{0} messages are acknowledged", acknowledged(messages));
      }

      @Override
      public void abort(WriterCommitMessage[] messages) {
        LOG.log(Level.WARNING, "the write failed; {0} messages of tasks that ended are acknowledged",
            acknowledged(messages));
      }
    };
  }

  @Override
  public StreamingWrite toStreaming() {
    return new StreamingWrite() {
      @Override
      public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
        return senders;
      }

      @Override
      public void commit(long epoch, WriterCommitMessage[] messages) {
        LOG.log(Level.INFO, "{0} messages of batch {1} are acknowledged", new Object[] {acknowledged(messages), epoch});
      }

      @Override
      public void abort(long epoch, WriterCommitMessage[] messages) {
        LOG.log(Level.WARNING, "batch {1} failed; {0} messages of tasks that ended are acknowledged",
            new Object[] {acknowledged(messages), epoch});
      }
    };
  }

  private static long acknowledged(WriterCommitMessage[] messages) {
    long sum = 0;
    for (WriterCommitMessage each : messages) {
      sum += each instanceof RowSender.Written written ? written.messages() : 0;
    }
    return sum;
  }
}
