package io.github.rocketwire.spark.columns;

import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;
import java.util.function.IntUnaryOperator;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;

/** Columns whose values a function gives, row by row. */
public final class Computed {
  private static final long LAST_MS = Long.MAX_VALUE / 1000;

  private Computed() {}

  /** Texts; null is null. */
  public static ColumnVector texts(IntFunction<UTF8String> value) {
    return new Texts(value);
  }

  /** Whole numbers of 32 bits. */
  public static ColumnVector ints(IntUnaryOperator value) {
    return new Ints(value);
  }

  /** Whole numbers of 64 bits. */
  public static ColumnVector longs(IntToLongFunction value) {
    return new Longs(DataTypes.LongType, value);
  }

  /** Times, given in ms since 1970. */
  public static ColumnVector times(IntToLongFunction ms) {
    return new Longs(DataTypes.TimestampType, row -> microseconds(ms.applyAsLong(row)));
  }

  /** A time in ms as Spark has it, in microseconds; what is out of their range becomes the first or the last. */
  static long microseconds(long ms) {
    return ms > LAST_MS ? Long.MAX_VALUE : ms < -LAST_MS ? Long.MIN_VALUE : ms * 1000;
  }

  private static final class Texts extends Vector {
    private final IntFunction<UTF8String> value;

    Texts(IntFunction<UTF8String> value) {
      super(DataTypes.StringType);
      this.value = value;
    }

    @Override
    public boolean hasNull() {
      return true; // maybe
    }

    @Override
    public boolean isNullAt(int row) {
      return value.apply(row) == null;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return value.apply(row);
    }
  }

  private static final class Ints extends Vector {
    private final IntUnaryOperator value;

    Ints(IntUnaryOperator value) {
      super(DataTypes.IntegerType);
      this.value = value;
    }

    @Override
    public int getInt(int row) {
      return value.applyAsInt(row);
    }
  }

  private static final class Longs extends Vector {
    private final IntToLongFunction value;

    Longs(DataType type, IntToLongFunction value) {
      super(type);
      this.value = value;
    }

    @Override
    public long getLong(int row) {
      return value.applyAsLong(row);
    }
  }
}
