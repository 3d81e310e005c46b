package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.endpoint.Cluster;
import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.stream.Admission;
import io.github.rocketwire.spark.stream.MessageQueue;
import io.github.rocketwire.spark.stream.QueueOffsets;
import io.github.rocketwire.spark.stream.QueueStream;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** Reads from brokers as their queues grow. */
final class EndpointStream extends QueueStream<Cluster> {
  private static final String REPLACED =
      "Was the topic made again? Begin with a new checkpointLocation, or set failOnDataLoss to false";

  private final EndpointOptions endpoint;
  private final Session session;

  EndpointStream(Request request, EndpointOptions endpoint) {
    super(request, REPLACED);
    this.endpoint = endpoint;
    session = new Session(endpoint);
  }

  @Override
  protected <T> T run(Query<Cluster, T> query) {
    return session.run(query::run);
  }

  @Override
  protected Map<MessageQueue, Long> begin(Cluster cluster) throws IOException {
    Map<MessageQueue, Long> found = new TreeMap<>();
    Queues.requested(cluster, request, endpoint.group).forEach((queue, range) -> found.put(queue, range[0]));
    return found;
  }

  @Override
  protected Map<MessageQueue, long[]> bounds(Cluster cluster) throws IOException {
    return Queues.bounds(cluster, Queues.wanted(cluster, request));
  }

  @Override
  protected Map<MessageQueue, Long> admitted(
      Cluster cluster, Map<MessageQueue, long[]> ranges, Long rows, Long size) throws IOException {
    long most = rows == null ? Long.MAX_VALUE : rows;
    if (size != null) {
      most = Math.min(most, size / Queues.meanSize(cluster, ranges, endpoint.group));
    }
    Map<MessageQueue, Long> backlogs = new TreeMap<>();
    ranges.forEach((queue, range) -> backlogs.put(queue, range[1] - range[0]));
    // One message at least, so that the stream makes progress.
    Map<MessageQueue, Long> ends = new TreeMap<>(Admission.shares(backlogs, Math.max(1, most)));
    ends.replaceAll((queue, part) -> ranges.get(queue)[0] + part);
    return ends;
  }

  @Override
  protected List<BrokerPart> plan(Cluster cluster, QueueOffsets from, QueueOffsets to) throws IOException {
    Map<MessageQueue, Long> ended = new TreeMap<>(to.offsets);
    ended.entrySet().removeIf(entry -> entry.getValue().equals(from.offsets.get(entry.getKey())));
    if (ended.isEmpty()) {
      return List.of();
    }
    Map<MessageQueue, long[]> ranges = Queues.bounds(cluster, known(cluster, ended.keySet()));
    ranges.replaceAll((queue, range) -> there(queue, range, from.offsets.get(queue), ended.get(queue)));
    long size = Queues.meanSize(cluster, ranges, endpoint.group);
    return BrokerPart.plan(ranges, size, options.maxBytesPerPartition, options.minPartitions);
  }

  /** The part of a range that the queue has: all of it, except for lost messages. */
  private long[] there(MessageQueue queue, long[] bounds, Long begun, long end) {
    long least = bounds[0];
    long most = bounds[1];
    // The queue was recorded, or its topic was created again, as the last poll reported.
    long first = begun == null || begun > end ? least : begun;
    if (first < least) {
      String what = queue + ": the messages from offset " + first + " to " + (Math.min(least, end) - 1) + " are gone";
      Ranges.lost(what, options.failOnDataLoss, REMOVED);
    }
    if (end > most) {
      String what = queue + " ends at offset " + most + ", and messages up to " + end + " were there";
      Ranges.lost(what, options.failOnDataLoss, remedy);
    }
    first = Math.max(first, least);
    return new long[] {first, Math.max(first, Math.min(end, most))};
  }

  /** Those queues that exist. */
  private Set<MessageQueue> known(Cluster cluster, Set<MessageQueue> queues) throws IOException {
    Set<MessageQueue> known = Queues.wanted(cluster, request);
    for (MessageQueue queue : queues) {
      if (!known.contains(queue)) {
        Ranges.lost(queue + " is not there any more", options.failOnDataLoss, REMOVED);
      }
    }
    Set<MessageQueue> found = new TreeSet<>(queues);
    found.retainAll(known);
    return found;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new EndpointScan.Readers(request, endpoint, Integer.MAX_VALUE);
  }

  @Override
  public void stop() {
    session.close();
  }
}
