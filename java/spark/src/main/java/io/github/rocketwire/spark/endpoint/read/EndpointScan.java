package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.PlannedScan;
import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.read.ColumnarReaders;
import io.github.rocketwire.spark.request.Request;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** A read of an endpoint: of the messages that brokers have when it is planned, or of a stream. */
public final class EndpointScan extends PlannedScan {
  private final Request request;
  private final EndpointOptions endpoint;
  private final int limit;

  /** A read of these columns; each task reads no more batches than it needs for the limit. */
  public EndpointScan(Request request, EndpointOptions endpoint, StructType schema, int limit) {
    super(schema);
    this.request = request;
    this.endpoint = endpoint;
    this.limit = limit;
  }

  /** Makes the readers of tasks; sent to the executors. */
  record Readers(Request request, EndpointOptions endpoint, int limit) implements ColumnarReaders {
    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
      return ColumnarReaders.limited(new PulledReader((BrokerPart) partition, request, endpoint), limit);
    }
  }

  @Override
  public String description() {
    return "rocketmq " + endpoint.nameServers;
  }

  @Override
  protected List<BrokerPart> plan() {
    try (Session session = new Session(endpoint)) {
      return session.run(cluster -> {
        var ranges = Queues.requested(cluster, request, endpoint.group);
        long size = Queues.meanSize(cluster, ranges, endpoint.group);
        return BrokerPart.plan(ranges, size, request.options.maxBytesPerPartition, request.options.minPartitions);
      });
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Readers(request, endpoint, limit);
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    return new EndpointStream(request, endpoint);
  }
}
