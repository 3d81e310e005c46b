package io.github.rocketwire.spark.columns;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column without nulls; each kind implements the values that it has. */
public abstract class Vector extends ColumnVector {
  protected Vector(DataType type) {
    super(type);
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return false;
  }

  @Override
  public int numNulls() {
    return 0;
  }

  @Override
  public boolean isNullAt(int row) {
    return false;
  }

  @Override
  public boolean getBoolean(int row) {
    throw none();
  }

  @Override
  public byte getByte(int row) {
    throw none();
  }

  @Override
  public short getShort(int row) {
    throw none();
  }

  @Override
  public int getInt(int row) {
    throw none();
  }

  @Override
  public long getLong(int row) {
    throw none();
  }

  @Override
  public float getFloat(int row) {
    throw none();
  }

  @Override
  public double getDouble(int row) {
    throw none();
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw none();
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw none();
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw none();
  }

  @Override
  public UTF8String getUTF8String(int row) {
    throw none();
  }

  @Override
  public byte[] getBinary(int row) {
    throw none();
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw none();
  }

  private UnsupportedOperationException none() {
    return new UnsupportedOperationException("a column of " + type.simpleString() + " has no such value");
  }
}
