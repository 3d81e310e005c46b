package io.github.rocketwire.spark;

import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.endpoint.read.EndpointScan;
import io.github.rocketwire.spark.request.Options;
import java.util.List;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Accepts what Spark pushes down to a read of an endpoint. */
final class EndpointScanBuilder extends NarrowingBuilder {
  private final EndpointOptions endpoint;

  EndpointScanBuilder(StructType schema, Options options, EndpointOptions endpoint) {
    super(schema, options);
    this.endpoint = endpoint;
  }

  /** All of them are Spark's to check again: a damaged message has no offset. */
  @Override
  public Filter[] pushFilters(Filter[] filters) {
    super.pushFilters(filters);
    return filters;
  }

  @Override
  public Scan build() {
    return new EndpointScan(request(List.of(schema.fieldNames())), endpoint, schema, limit);
  }
}
