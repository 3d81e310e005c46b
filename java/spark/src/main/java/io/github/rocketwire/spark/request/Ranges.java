package io.github.rocketwire.spark.request;

import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.store.QueueKey;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The requested offsets of a queue, within those that exist; and what happens where messages are missing. */
public final class Ranges {
  public static final String REMEDY = "Set failOnDataLoss to false to read what is left, or ask for other offsets";
  private static final Logger LOG = LoggerFactory.getLogger("rocketwire.spark");

  private Ranges() {}

  /** Requested messages are missing: an error, or a warning in the log. */
  public static void lost(String what, boolean fail, String remedy) {
    if (fail) {
      throw new SourceException(SourceException.DATA_LOST, what, remedy);
    }
    LOG.warn("{}; going on, as failOnDataLoss is false", what);
  }

  public static void warn(String what) {
    LOG.warn(what);
  }

  /** Requested queue offsets within bounds. */
  public static long[] requested(Options options, String broker, QueueKey key, long[] bounds) {
    long least = bounds[0];
    long most = bounds[1];
    Long from = options.starting == null ? null : options.starting.of(broker, key.topic(), key.queueId());
    Long to = options.ending == null ? null : options.ending.of(broker, key.topic(), key.queueId());
    long first = from == null || from == Options.EARLIEST ? least : from == Options.LATEST ? most : from;
    long end = to == null || to == Options.LATEST ? most : to == Options.EARLIEST ? least : to;
    String where =
        key.topic() + ", queue " + key.queueId() + " of " + broker + " has the offsets from " + least + " to " + most;
    if (first < least || first > most) {
      lost(where + ": startingOffsets asks for " + first, options.failOnDataLoss, REMEDY);
    }
    if (end > most) {
      lost(where + ": endingOffsets asks for those up to " + end, options.failOnDataLoss, REMEDY);
    }
    first = Math.min(Math.max(first, least), most);
    return new long[] {first, Math.max(first, Math.min(end, most))};
  }
}
