package io.github.rocketwire.spark;

import io.github.rocketwire.spark.plan.Planner;
import io.github.rocketwire.spark.plan.Stores;
import io.github.rocketwire.spark.plan.TopN;
import io.github.rocketwire.spark.read.Aggregated;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Snapshot;
import java.util.List;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.types.StructType;

/** Accepts what Spark pushes down to a read of stores; of aggregates those that queues alone answer. */
final class StoreScanBuilder extends NarrowingBuilder implements SupportsPushDownAggregates, SupportsPushDownTopN {
  private Aggregated aggregated;
  private List<Snapshot> stores;
  private TopN top;

  StoreScanBuilder(StructType schema, Options options) {
    super(schema, options);
  }

  @Override
  public void pruneColumns(StructType required) {
    if (aggregated == null) {
      super.pruneColumns(required);
    }
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    Aggregated wanted = Aggregated.of(aggregation);
    if (wanted == null) {
      return false;
    }
    Request request = request(wanted.columns());
    if (!request.needsNoLog()) {
      return false;
    }
    List<Snapshot> opened = Stores.open(options);
    if (!Planner.byEntriesAlone(opened, request)) {
      return false;
    }
    stores = opened;
    aggregated = wanted;
    schema = wanted.schema();
    return true;
  }

  /** The read is narrowed to what can be among these rows; Spark sorts, and counts again. */
  @Override
  public boolean pushTopN(SortOrder[] orders, int count) {
    top = aggregated == null ? TopN.of(orders, count) : null;
    return top != null;
  }

  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  @Override
  public Scan build() {
    List<String> columns = aggregated == null ? List.of(schema.fieldNames()) : aggregated.columns();
    return new StoreScan(request(columns), schema, aggregated, stores, limit, top);
  }
}
