package io.github.rocketwire.spark;

import io.github.rocketwire.spark.plan.Planner;
import io.github.rocketwire.spark.plan.Stores;
import io.github.rocketwire.spark.read.Aggregated;
import io.github.rocketwire.spark.request.Narrowed;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Snapshot;
import java.util.List;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Takes what Spark pushes down: filters, columns, aggregates that queues alone answer, and a limit. */
final class StoreScanBuilder
    implements ScanBuilder,
        SupportsPushDownFilters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownAggregates,
        SupportsPushDownLimit {
  private final Options options;
  private StructType schema;
  private Narrowed narrowed = new Narrowed();
  private Filter[] pushed = {};
  private Aggregated aggregated;
  private List<Snapshot> stores;
  private int limit = Integer.MAX_VALUE;

  StoreScanBuilder(StructType schema, Options options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public Filter[] pushFilters(Filter[] filters) {
    narrowed = new Narrowed();
    pushed = filters;
    return narrowed.by(filters);
  }

  /** All of them narrow the read, or do nothing; Spark shows them in its plan. */
  @Override
  public Filter[] pushedFilters() {
    return pushed;
  }

  @Override
  public void pruneColumns(StructType required) {
    if (aggregated == null) {
      schema = required;
    }
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    Aggregated wanted = Aggregated.of(aggregation);
    if (wanted == null) {
      return false;
    }
    Request request = new Request(options, narrowed, wanted.columns());
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

  /** Each task reads no more batches than it needs; Spark counts again. */
  @Override
  public boolean pushLimit(int count) {
    limit = count;
    return true;
  }

  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  @Override
  public Scan build() {
    List<String> columns = aggregated == null ? List.of(schema.fieldNames()) : aggregated.columns();
    return new StoreScan(new Request(options, narrowed, columns), schema, aggregated, stores, limit);
  }
}
