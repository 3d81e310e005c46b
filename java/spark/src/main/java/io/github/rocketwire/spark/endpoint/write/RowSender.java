package io.github.rocketwire.spark.endpoint.write;

import io.github.rocketwire.spark.endpoint.EndpointErrors;
import io.github.rocketwire.spark.endpoint.RemotingException;
import io.github.rocketwire.spark.endpoint.RetryPauses;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/**
 * Sends the rows of a task, each at least once. Rows are collected, and checked, before they are sent: an invalid row is
 * found before any of its batch leaves.
 */
final class RowSender implements DataWriter<InternalRow> {
  private static final int ROWS = 10_000;
  private static final long BYTES = 16 << 20;

  /** What one task has written: messages that brokers acknowledged. */
  record Written(long messages) implements WriterCommitMessage {
    private static final long serialVersionUID = 1;
  }

  private record Kind(String topic, int queueId, boolean delayed) {}

  private final WriteOptions options;
  private final MessageRows rows;
  private final Map<Kind, List<Message>> collected = new LinkedHashMap<>();
  private long count;
  private long bytes;
  private UniqueKeys keys;
  private Sender sender;

  RowSender(StructType schema, WriteOptions options) {
    this.options = options;
    this.rows = new MessageRows(schema, options);
  }

  @Override
  public void write(InternalRow row) throws IOException {
    if (sender == null) {
      open();
    }
    Message message = rows.message(row, keys.take(System.currentTimeMillis()));
    Kind kind = new Kind(message.topic(), message.queueId(), message.delayed());
    collected.computeIfAbsent(kind, none -> new ArrayList<>()).add(message);
    bytes += message.itemSize();
    if (++count >= ROWS || bytes >= BYTES) {
      send();
    }
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    if (sender == null) {
      return new Written(0);
    }
    send();
    try {
      sender.finish();
    } catch (RemotingException error) {
      throw EndpointErrors.of(error, options.endpoint);
    }
    return new Written(sender.acknowledged());
  }

  @Override
  public void abort() {
    // what is stored cannot be taken back
  }

  @Override
  public void close() {
    if (sender != null) {
      sender.close();
    }
  }

  private void open() throws IOException {
    RetryPauses pauses = new RetryPauses();
    try {
      while (sender == null) {
        try {
          Routes routes = new Routes(options.endpoint, (int) (Math.random() * (1 << 16)));
          keys = new UniqueKeys(routes.ownAddress(), ProcessHandle.current().pid());
          sender = new Sender(routes, options.retries);
        } catch (RemotingException error) {
          pauses.waitAfter(error);
        }
      }
    } catch (RemotingException error) {
      throw EndpointErrors.of(error, options.endpoint);
    }
  }

  private void send() throws IOException {
    try {
      for (List<Message> messages : collected.values()) {
        for (Parcel parcel : Parcel.of(messages, options.maxBatchBytes)) {
          sender.send(parcel);
        }
      }
    } catch (RemotingException error) {
      throw EndpointErrors.of(error, options.endpoint);
    }
    collected.clear();
    count = 0;
    bytes = 0;
  }
}
