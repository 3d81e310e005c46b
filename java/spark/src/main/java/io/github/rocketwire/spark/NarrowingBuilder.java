package io.github.rocketwire.spark;

import io.github.rocketwire.spark.request.Narrowed;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Request;
import java.util.List;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Accepts what Spark pushes down to each kind of read: filters, columns and a limit. */
abstract class NarrowingBuilder
    implements ScanBuilder, SupportsPushDownFilters, SupportsPushDownRequiredColumns, SupportsPushDownLimit {
  protected final Options options;
  protected StructType schema;
  protected Narrowed narrowed = new Narrowed();
  protected int limit = Integer.MAX_VALUE;
  private Filter[] pushed = {};

  NarrowingBuilder(StructType schema, Options options) {
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
    schema = required;
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

  /** The request for some columns. */
  protected Request request(List<String> columns) {
    return new Request(options, narrowed, columns);
  }
}
