package io.github.rocketwire.spark;

import io.github.rocketwire.spark.request.Options;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The messages of stores as a table of a query. */
final class StoreTable implements SupportsRead {
  private final StructType schema;
  private final Options options;

  StoreTable(StructType schema, Options options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public String name() {
    return "rocketmq " + String.join(",", options.paths);
  }

  @Override
  @SuppressWarnings("deprecation") // `columns` of later versions is made of it
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    return new StoreScanBuilder(schema, options);
  }
}
