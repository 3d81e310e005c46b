package io.github.rocketwire.spark;

import io.github.rocketwire.spark.endpoint.EndpointWrite;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** An endpoint as a table: rows are sent from here; reads are the Python source's. */
final class EndpointTable implements SupportsRead, SupportsWrite {
  private final StructType schema;
  private final Supplier<Table> python;

  /**
   * A table of these columns.
   *
   * @param schema the columns of a read, or those of a frame that is written
   * @param python gives the Python source's table; it is asked only for a read
   */
  EndpointTable(StructType schema, Supplier<Table> python) {
    this.schema = schema;
    this.python = python;
  }

  @Override
  public String name() {
    return "rocketmq";
  }

  /** What the progress of a stream calls its sink. */
  @Override
  public String toString() {
    return name();
  }

  @Override
  @SuppressWarnings("deprecation") // `columns` of later versions is made of it
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(
        TableCapability.BATCH_READ,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.STREAMING_WRITE,
        TableCapability.TRUNCATE, // is refused with an error that says why
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    return ((SupportsRead) python.get()).newScanBuilder(given);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return EndpointWrite.builder(info);
  }
}
