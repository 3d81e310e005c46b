package io.github.rocketwire.spark.columns;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Texts of a buffer, by where each begins and ends; one becomes an object when Spark reads it. */
final class Spans extends Vector {
  private final byte[] data;
  private final int[] begins;
  private final int[] ends;
  private final int gap;
  private final boolean areAscii;

  /**
   * A column of such texts.
   *
   * @param gap how far before its end in {@code ends} a text stops
   * @param areAscii whether all texts are known to be ASCII
   */
  Spans(byte[] data, int[] begins, int[] ends, int gap, boolean areAscii) {
    super(DataTypes.StringType);
    this.data = data;
    this.begins = begins;
    this.ends = ends;
    this.gap = gap;
    this.areAscii = areAscii;
  }

  @Override
  public UTF8String getUTF8String(int row) {
    int begin = begins[row];
    int end = ends[row] - gap;
    return areAscii ? UTF8String.fromBytes(data, begin, end - begin) : Utf8.text(data, begin, end);
  }
}
