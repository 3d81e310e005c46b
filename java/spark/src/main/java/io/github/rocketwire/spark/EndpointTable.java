package io.github.rocketwire.spark;

import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.endpoint.write.EndpointWrite;
import io.github.rocketwire.spark.request.Options;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** An endpoint as a table. Spark makes it for reads and writes alike, so options are parsed later. */
final class EndpointTable implements SupportsRead, SupportsWrite {
  private final StructType schema;
  private final Map<String, String> given;

  /**
   * A table of these columns.
   *
   * @param schema the columns of a read, or those of a frame that is written
   * @param given the options of a read; a write is given its own
   */
  EndpointTable(StructType schema, Map<String, String> given) {
    this.schema = schema;
    this.given = given;
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
        TableCapability.TRUNCATE, // is refused with an error that has the reason
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap same) {
    Columns.check(schema);
    return new EndpointScanBuilder(schema, Options.parse(given), new EndpointOptions(given));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return EndpointWrite.builder(info);
  }
}
