package io.github.rocketwire.spark.request;

import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.Facts;
import java.io.Serializable;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The parameters of a read: options, pushed filters, and the columns that the query needs. */
public final class Request implements Serializable {
  private static final long serialVersionUID = 1;

  /** Store times rise along the log, but for a clock that was set back by so much (ms). */
  public static final long CLOCK_MARGIN = 60_000;

  public static final long FOREVER = Long.MAX_VALUE;

  public final Options options;
  public final Narrowed narrowed;
  public final List<String> columns;

  public Request(Options options, Narrowed narrowed, List<String> columns) {
    this.options = options;
    this.narrowed = narrowed;
    this.columns = columns;
  }

  /** Store time in ms at or after which messages are wanted. */
  public long since() {
    return options.since == null ? narrowed.since : Math.max(options.since, narrowed.since);
  }

  /** Store time in ms before which messages are wanted. */
  public long until() {
    return options.until == null ? narrowed.until : Math.min(options.until, narrowed.until);
  }

  /** {@link #since} less a margin for clocks. */
  public long sinceByClock() {
    return since() < -FOREVER + CLOCK_MARGIN ? -FOREVER : since() - CLOCK_MARGIN;
  }

  /** {@link #until} with a margin for clocks. */
  public long untilByClock() {
    return until() > FOREVER - CLOCK_MARGIN ? FOREVER : until() + CLOCK_MARGIN;
  }

  public boolean takesTopic(String topic) {
    return (narrowed.topics == null || narrowed.topics.contains(topic)) && options.takesTopic(topic);
  }

  /** The topics that are named, by options and filters; null when none is. */
  public Set<String> topics() {
    if (options.topics.isEmpty() && narrowed.topics == null) {
      return null;
    }
    Set<String> found = new HashSet<>(options.topics.isEmpty() ? narrowed.topics : options.topics);
    found.removeIf(topic -> !takesTopic(topic));
    return found;
  }

  public boolean takesQueue(int number) {
    return (options.queues == null || options.queues.contains(number))
        && (narrowed.queues == null || narrowed.queues.contains(number));
  }

  public boolean hasQueues() {
    return options.queues != null || narrowed.queues != null;
  }

  public boolean hasTimes() {
    return since() > -FOREVER || until() < FOREVER;
  }

  public boolean hasIds() {
    return narrowed.messageIds != null || narrowed.offsetMessageIds != null;
  }

  /** Whether options restrict queue offsets. */
  public boolean hasOffsets() {
    return options.starting != null && !"earliest".equals(options.starting.word())
        || options.ending != null && !"latest".equals(options.ending.word());
  }

  /** Whether anything but times and ids is restricted, which queues answer. */
  public boolean isWorthQueues() {
    return topics() != null || options.topicPattern != null || hasQueues() || hasOffsets() || narrowed.tags != null
        || narrowed.hasOffsets();
  }

  /** Whether there are other restrictions than leaving out hidden topics. */
  public boolean isRestricted() {
    return isWorthQueues() || hasTimes() || hasIds();
  }

  /** Whether consume queues have all requested values. */
  public boolean needsNoLog() {
    return Columns.OF_QUEUES.containsAll(columns) && !hasTimes() && !hasIds() && narrowed.tags == null;
  }

  /** Whether columns beside the store, which options name, have all requested values. */
  public boolean mayUseCache() {
    Set<String> named = topics();
    return !options.columnCache.isEmpty()
        && Columns.CACHED.containsAll(columns)
        && !hasIds()
        // The messages of light queues are stored with other topics.
        && (named == null || named.stream().noneMatch(topic -> topic.startsWith(Facts.LIGHT_QUEUE_PREFIX)));
  }

  public boolean has(String column) {
    return columns.contains(column);
  }
}
