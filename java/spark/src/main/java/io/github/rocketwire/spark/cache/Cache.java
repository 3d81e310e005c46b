package io.github.rocketwire.spark.cache;

import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.FileGone;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Columns beside a store, as they were when a read was planned.
 *
 * @param folder where they are
 * @param last physical offset of the record that they end with
 * @param end where that ends
 * @param witness its crc32c
 */
public record Cache(String folder, long last, long end, int witness) implements Serializable {
  /** Columns that are of a store, and their manifest. */
  public record Fitting(Cache cache, Manifest manifest) {}

  /** Those of the option columnCache that are of a store; null, with a warning, if none is. */
  public static Fitting fitting(Snapshot store, Request request) {
    List<String> reasons = new ArrayList<>();
    for (String folder : request.options.columnCache) {
      try {
        Manifest manifest = Manifest.load(folder);
        Cache found = new Cache(folder, manifest.last(), manifest.end(), manifest.witness());
        found.check(store);
        return new Fitting(found, manifest);
      } catch (IOException error) {
        reasons.add(folder + ": " + error.getMessage());
      }
    }
    Ranges.warn("the log of " + store.broker + " is read: no columns of the option columnCache fit ("
        + String.join("; ", reasons) + ")");
    return null;
  }

  private void check(Snapshot store) throws IOException {
    if (last < 0) {
      return;
    }
    byte[] record;
    try (Log log = new Log(store.directory.commitLog)) {
      record = log.read(last, (int) (end - last));
    } catch (FileGone gone) {
      record = new byte[0];
    }
    if (Manifest.crc(record) != witness) {
      throw new Unfit("the log has not the message that they end with: it is another store, or was cut");
    }
  }

  /**
   * The manifest, as it was when the read was planned.
   *
   * @throws Unfit it is another one now
   */
  public Manifest manifest() throws IOException {
    Manifest found = Manifest.load(folder);
    if (found.last() != last || found.end() != end || found.witness() != witness) {
      throw new Unfit("they were extended or made again since the read was planned");
    }
    return found;
  }
}
