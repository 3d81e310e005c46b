package io.github.rocketwire.spark;

import java.util.List;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A read whose batch is planned once, however often Spark gets its tasks. */
public abstract class PlannedScan implements Scan, Batch {
  private final StructType schema;
  private InputPartition[] partitions;

  /** A read of these columns. */
  protected PlannedScan(StructType schema) {
    this.schema = schema;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public synchronized InputPartition[] planInputPartitions() {
    if (partitions == null) {
      partitions = plan().toArray(InputPartition[]::new);
    }
    return partitions;
  }

  /** Takes a snapshot of the source, and splits the requested messages into tasks. */
  protected abstract List<? extends InputPartition> plan();
}
