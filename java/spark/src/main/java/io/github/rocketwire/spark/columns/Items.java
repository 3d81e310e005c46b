package io.github.rocketwire.spark.columns;

import io.github.rocketwire.spark.Facts;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The properties of the records of a batch: where each name and value is. The rules are those of {@link Properties}: of
 * equal names the last with a value counts.
 */
final class Items {
  private static final int USUAL = 6; // items of a record
  private static final int FEW = 16; // up to so many names are compared singly

  private final byte[] data;
  private final int[] rowEnds;
  private boolean areAscii = true;
  private int used;
  private int[] names;
  private int[] values; // a name ends a byte before its value
  private int[] ends;
  private final Spans nameTexts;
  private final Spans valueTexts;

  /**
   * Finds them.
   *
   * @param begins where the properties of each record begin; may be longer than there are records
   * @param stops where they end
   */
  Items(byte[] data, int[] begins, int[] stops) {
    this.data = data;
    rowEnds = new int[stops.length];
    names = new int[USUAL * stops.length];
    values = new int[names.length];
    ends = new int[names.length];
    for (int row = 0; row < stops.length; row++) {
      add(begins[row], stops[row]);
      rowEnds[row] = used;
    }
    nameTexts = new Spans(data, names, values, 1, areAscii);
    valueTexts = new Spans(data, values, ends, 0, areAscii);
  }

  /** All of a record. */
  ColumnarMap map(int row) {
    int first = first(row);
    return new ColumnarMap(nameTexts, valueTexts, first, rowEnds[row] - first);
  }

  /** Whether the properties of all records are ASCII. */
  boolean areAscii() {
    return areAscii;
  }

  /** Where the value of a property of a record begins, in the high half, and ends; -1 without one. */
  long find(int row, byte[] name) {
    for (int i = first(row); i < rowEnds[row]; i++) {
      if (values[i] - 1 - names[i] == name.length && Properties.matches(data, names[i], name)) {
        return (long) values[i] << 32 | ends[i];
      }
    }
    return -1;
  }

  private int first(int row) {
    return row == 0 ? 0 : rowEnds[row - 1];
  }

  /** Finds the items of a record in one pass over its properties. */
  private void add(int from, int end) {
    int first = used;
    int begin = from;
    int middle = -1;
    long joined = 0;
    for (int at = from; at < end; at += Long.BYTES) {
      long word = Bytes.word(data, at, end);
      joined |= word;
      for (long marks = Bytes.below4(word); marks != 0; marks &= marks - 1) {
        int place = at + (Long.numberOfTrailingZeros(marks) >> 3);
        if (data[place] == Facts.ITEM_SEP) {
          put(begin, middle, place);
          begin = place + 1;
          middle = -1;
        } else if (middle < 0 && data[place] == Facts.NAME_SEP) {
          middle = place;
        }
      }
    }
    put(begin, middle, end);
    boolean isAscii = Bytes.isAscii(joined);
    areAscii &= isAscii;
    if (!areDistinct(first, isAscii)) {
      merge(first);
    }
  }

  private void put(int name, int middle, int end) {
    if (middle <= name || middle + 1 >= end) {
      return;
    }
    if (used == names.length) {
      names = Arrays.copyOf(names, 2 * used);
      values = Arrays.copyOf(values, 2 * used);
      ends = Arrays.copyOf(ends, 2 * used);
    }
    names[used] = name;
    values[used] = middle + 1;
    ends[used++] = end;
  }

  /** Whether the names of a record are known to differ as texts: other bytes are another text if they are ASCII. */
  private boolean areDistinct(int first, boolean isAscii) {
    if (used - first > FEW) {
      return false;
    }
    for (int i = first; i < used; i++) {
      int stop = values[i] - 1;
      if (!isAscii && Bytes.notAscii(data, names[i], stop) < stop) {
        return false;
      }
      for (int j = first; j < i; j++) {
        if (values[j] - names[j] == values[i] - names[i]
            && Arrays.equals(data, names[j], values[j], data, names[i], values[i])) {
          return false;
        }
      }
    }
    return true;
  }

  /** Of the items of a record with equal names keeps the last, at the place of the first. */
  private void merge(int first) {
    Map<UTF8String, Integer> places = new HashMap<>();
    int found = used;
    used = first;
    for (int i = first; i < found; i++) {
      Integer known = places.putIfAbsent(Utf8.text(data, names[i], values[i] - 1), used);
      int place = known == null ? used++ : known;
      names[place] = names[i];
      values[place] = values[i];
      ends[place] = ends[i];
    }
  }
}
