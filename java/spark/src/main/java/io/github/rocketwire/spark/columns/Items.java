package io.github.rocketwire.spark.columns;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The properties of the records of a batch: where each name and value is. The rules are those of {@link Properties}: of
 * equal names the last with a value counts.
 */
final class Items {
  private static final int USUAL = 6; // items of a record
  private static final int FEW = 16; // as many names are compared one by one

  private final byte[] data;
  private final int[] rowEnds;
  private int used;
  private int[] names;
  private int[] values; // a name ends a byte before its value
  private int[] ends;
  private final Spans nameTexts;
  private final Spans valueTexts;

  /**
   * Finds them.
   *
   * @param begins where the properties of each record begin
   * @param stops where they end
   */
  Items(byte[] data, int[] begins, int[] stops) {
    this.data = data;
    rowEnds = new int[begins.length];
    names = new int[USUAL * begins.length];
    values = new int[names.length];
    ends = new int[names.length];
    boolean areAscii = true;
    for (int row = 0; row < begins.length; row++) {
      areAscii = areAscii && Bytes.notAscii(data, begins[row], stops[row]) == stops[row];
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

  private void add(int from, int end) {
    int first = used;
    Map<UTF8String, Integer> places = null;
    for (int at = from; at < end; ) {
      int stop = Bytes.next(data, at, end, Properties.ITEM_ENDS);
      int middle = Bytes.next(data, at, stop, Properties.NAME_ENDS);
      if (middle > at && middle + 1 < stop) {
        if (places == null && used - first >= FEW) {
          places = places(first);
        }
        Integer place = places == null ? placeOf(first, at, middle) : places.putIfAbsent(Utf8.text(data, at, middle), used);
        put(place == null ? used : place, at, middle + 1, stop);
      }
      at = stop + 1;
    }
  }

  private void put(int place, int name, int value, int end) {
    if (place == names.length) {
      names = Arrays.copyOf(names, 2 * place);
      values = Arrays.copyOf(values, 2 * place);
      ends = Arrays.copyOf(ends, 2 * place);
    }
    names[place] = name;
    values[place] = value;
    ends[place] = end;
    used = Math.max(used, place + 1);
  }

  /** The place of the item of the same record with this name; null without one. */
  private Integer placeOf(int first, int from, int end) {
    for (int i = first; i < used; i++) {
      int stop = values[i] - 1;
      if (Arrays.equals(data, names[i], stop, data, from, end) || isSameText(names[i], stop, from, end)) {
        return i;
      }
    }
    return null;
  }

  /** Whether names that are not all ASCII are equal as texts: what is not UTF-8 is replaced there. */
  private boolean isSameText(int from, int end, int otherFrom, int otherEnd) {
    return Bytes.notAscii(data, otherFrom, otherEnd) < otherEnd
        && Utf8.text(data, from, end).equals(Utf8.text(data, otherFrom, otherEnd));
  }

  private Map<UTF8String, Integer> places(int first) {
    Map<UTF8String, Integer> found = new HashMap<>();
    for (int i = first; i < used; i++) {
      found.put(Utf8.text(data, names[i], values[i] - 1), i);
    }
    return found;
  }
}
