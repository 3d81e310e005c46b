package io.github.rocketwire.spark.columns;

import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** A column of a few values that are made singly: Integer, Long, UTF8String, or null. */
public final class Values extends Vector {
  private final Object[] values;

  public Values(DataType type, Object[] values) {
    super(type);
    this.values = values;
  }

  public Values(DataType type, List<?> values) {
    this(type, values.toArray());
  }

  @Override
  public boolean hasNull() {
    return true;
  }

  @Override
  public int numNulls() {
    int count = 0;
    for (Object value : values) {
      count += value == null ? 1 : 0;
    }
    return count;
  }

  @Override
  public boolean isNullAt(int row) {
    return values[row] == null;
  }

  @Override
  public int getInt(int row) {
    return (Integer) values[row];
  }

  @Override
  public long getLong(int row) {
    return (Long) values[row];
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return (UTF8String) values[row];
  }
}
