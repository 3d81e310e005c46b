package io.github.rocketwire.spark.request;

import java.util.Collection;
import java.util.Locale;

/** Finds what a misspelt name may mean. */
public final class Similar {
  private Similar() {}

  /** A remedy with the nearest known name; empty when none is near: more than a third of it would have to change. */
  public static String to(String name, Collection<String> known) {
    String best = "";
    int least = Math.max(1, name.length() / 3) + 1;
    for (String one : known) {
      int distance = distance(name.toLowerCase(Locale.ROOT), one.toLowerCase(Locale.ROOT));
      if (distance < least) {
        least = distance;
        best = one;
      }
    }
    return best.isEmpty() ? "" : "Did you mean " + best + "?";
  }

  private static int distance(String one, String other) {
    int[] row = new int[other.length() + 1];
    for (int j = 0; j < row.length; j++) {
      row[j] = j;
    }
    for (int i = 1; i <= one.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int replaced = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[other.length()];
  }
}
