package io.github.rocketwire.spark.store;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The known queues of one store, which {@link #follow} brings up to date. */
public final class Tails implements Closeable {
  private final OpenFileBudget budget;
  private final Map<QueueKey, Tail> known = new HashMap<>();
  private final byte[] buffer = new byte[Tail.BUFFER];

  Tails(OpenFileBudget budget) {
    this.budget = budget;
  }

  /** Reads what was appended to all; false if a queue has to be read again. */
  boolean follow() throws IOException {
    try {
      for (Tail tail : known.values()) {
        if (!tail.follow(buffer)) {
          return false;
        }
      }
      return true;
    } catch (FileGone gone) {
      return false;
    }
  }

  /** Remembers an open queue, if it has an entry in its last file. */
  void add(QueueKey key, Queue queue) throws IOException {
    if (queue.end > queue.first) {
      Tail former = known.remove(key);
      if (former != null) {
        former.close();
      }
      Tail found;
      try {
        found = Tail.of(queue, budget);
      } catch (FileGone gone) {
        return;
      }
      if (found != null) {
        known.put(key, found);
      }
    }
  }

  /** A known queue; null if it is not known. */
  Tail get(QueueKey key) {
    return known.get(key);
  }

  /** The largest places in last entries, so many at most, the largest first. */
  List<Long> newest(int count) {
    List<Long> places = new ArrayList<>();
    known.values().forEach(tail -> places.add(tail.last().place()));
    places.sort(Comparator.reverseOrder());
    return places.subList(0, Math.min(count, places.size()));
  }

  /** Knows none any more. */
  @Override
  public void close() throws IOException {
    for (Tail tail : known.values()) {
      tail.close();
    }
    known.clear();
  }
}
