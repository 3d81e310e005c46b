package io.github.rocketwire.spark;

import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.plan.Planner;
import io.github.rocketwire.spark.plan.Stores;
import io.github.rocketwire.spark.plan.TopN;
import io.github.rocketwire.spark.read.Aggregated;
import io.github.rocketwire.spark.read.Readers;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Directory;
import io.github.rocketwire.spark.store.Snapshot;
import io.github.rocketwire.spark.stream.StoreStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** A read of stores: of a batch, which is planned once, or of a stream. */
final class StoreScan extends PlannedScan {
  private final Request request;
  private final Aggregated aggregated;
  private final int limit;
  private final TopN top;
  private List<Snapshot> stores;

  StoreScan(
      Request request, StructType schema, Aggregated aggregated, List<Snapshot> stores, int limit, TopN top) {
    super(schema);
    this.request = request;
    this.aggregated = aggregated;
    this.stores = stores;
    this.limit = limit;
    this.top = top;
  }

  @Override
  public String description() {
    String counted = aggregated == null ? "" : ", aggregated from consume queues";
    String first = top == null ? "" : ", for the first " + top.count() + " by " + top.column();
    return "rocketmq " + String.join(",", request.options.paths) + counted + first;
  }

  @Override
  protected List<LogSpan> plan() {
    try {
      List<Snapshot> opened = stores == null ? Stores.open(request.options) : stores;
      List<LogSpan> spans = new ArrayList<>(Planner.plan(opened, request, top));
      if (aggregated != null && spans.isEmpty()) {
        // A count of nothing is a row, too.
        spans.add(new LogSpan("", 0, 0, List.of(), List.of(), null, true));
      }
      stores = null;
      return spans;
    } catch (IOException error) {
      throw Directory.unreadable(error);
    } catch (UncheckedIOException error) {
      throw Directory.unreadable(error.getCause());
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Readers(request, aggregated, limit);
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    return new StoreStream(request);
  }
}
