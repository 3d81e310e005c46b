package io.github.rocketwire.spark.request;

import java.io.Serializable;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;

/**
 * The restrictions by filters of a query: a read may let more pass, for Spark checks each row again. Only filters on
 * topic, queue_id and queue_offset are evaluated in full, in each kind of read and for each kind of row.
 */
public final class Narrowed implements Serializable {
  private static final long serialVersionUID = 1;

  public Set<String> topics;
  public Set<Integer> queues;
  public Set<String> tags;
  public Set<String> messageIds;
  public Set<String> offsetMessageIds;
  public long firstOffset = 0;
  public long endOffset = Request.FOREVER;
  /** Physical offsets, from a record on, up to where one ends. */
  public long firstPlace = 0;
  public long endPlace = Request.FOREVER;
  public long since = -Request.FOREVER;
  public long until = Request.FOREVER;

  public boolean hasOffsets() {
    return firstOffset != 0 || endOffset != Request.FOREVER;
  }

  public boolean hasPlaces() {
    return firstPlace != 0 || endPlace != Request.FOREVER;
  }

  /** The same restrictions, to be narrowed further. */
  public Narrowed copy() {
    Narrowed found = new Narrowed();
    found.topics = topics;
    found.queues = queues;
    found.tags = tags;
    found.messageIds = messageIds;
    found.offsetMessageIds = offsetMessageIds;
    found.offsets(firstOffset, endOffset);
    found.places(firstPlace, endPlace);
    found.times(since, until);
    return found;
  }

  /** Narrows by some filters; returns those that Spark has to check again. */
  public Filter[] by(Filter[] filters) {
    List<Filter> rest = new ArrayList<>();
    List<Filter> notNull = new ArrayList<>();
    Set<String> answered = new HashSet<>();
    for (Filter filter : filters) {
      if (filter instanceof IsNotNull) {
        notNull.add(filter);
      } else if (by(filter)) {
        answered.add(filter.references()[0]);
      } else {
        rest.add(filter);
      }
    }
    // A value that was compared is not null: Spark adds this filter automatically.
    notNull.removeIf(filter -> answered.contains(((IsNotNull) filter).attribute()));
    rest.addAll(notNull);
    return rest.toArray(Filter[]::new);
  }

  /** Narrows by a filter; whether that evaluates it in full. */
  private boolean by(Filter filter) {
    String[] columns = filter.references();
    if (columns.length != 1) {
      return false;
    }
    List<Object> values = values(filter);
    switch (columns[0]) {
      case "topic":
        topics = values == null ? topics : both(topics, values, String.class);
        return values != null;
      case "queue_id":
        queues = values == null ? queues : both(queues, values, Integer.class);
        return values != null;
      case "tags":
        tags = values == null ? tags : both(tags, values, String.class);
        return false;
      case "message_id":
        messageIds = values == null ? messageIds : both(messageIds, values, String.class);
        return false;
      case "offset_message_id":
        offsetMessageIds = values == null ? offsetMessageIds : both(offsetMessageIds, values, String.class);
        return false;
      case "queue_offset":
        return byOffset(filter, values);
      case "store_timestamp":
        byTime(filter, values);
        return false;
      default:
        return false;
    }
  }

  /** The values of which a column must have one; null for another kind of filter. */
  private static List<Object> values(Filter filter) {
    if (filter instanceof EqualTo equal) {
      return one(equal.value());
    }
    if (filter instanceof EqualNullSafe equal) {
      return equal.value() == null ? null : one(equal.value());
    }
    if (filter instanceof In in) {
      return Arrays.stream(in.values()).filter(Objects::nonNull).toList();
    }
    return null;
  }

  private static List<Object> one(Object value) {
    return value == null ? List.of() : List.of(value);
  }

  private static <T> Set<T> both(Set<T> before, List<Object> values, Class<T> kind) {
    Set<T> found = new HashSet<>();
    for (Object value : values) {
      found.add(kind.cast(value));
    }
    if (before != null) {
      found.retainAll(before);
    }
    return found;
  }

  private boolean byOffset(Filter filter, List<Object> values) {
    if (values != null) {
      long least = values.stream().mapToLong(value -> (Long) value).min().orElse(0);
      long most = values.stream().mapToLong(value -> (Long) value).max().orElse(-1);
      offsets(least, most == Request.FOREVER ? most : most + 1);
      return values.size() <= 1;
    }
    if (filter instanceof GreaterThan more) {
      long value = (Long) more.value();
      offsets(value == Request.FOREVER ? value : value + 1, Request.FOREVER);
    } else if (filter instanceof GreaterThanOrEqual more) {
      offsets((Long) more.value(), Request.FOREVER);
    } else if (filter instanceof LessThan less) {
      offsets(0, (Long) less.value());
    } else if (filter instanceof LessThanOrEqual less) {
      long value = (Long) less.value();
      offsets(0, value == Request.FOREVER ? value : value + 1);
    } else {
      return false;
    }
    return true;
  }

  /** Narrows queue offsets. */
  public void offsets(long first, long end) {
    firstOffset = Math.max(firstOffset, first);
    endOffset = Math.min(endOffset, end);
  }

  private void byTime(Filter filter, List<Object> values) {
    if (values != null) {
      List<Long> times = values.stream().map(Narrowed::ms).filter(Objects::nonNull).toList();
      if (times.size() == values.size()) {
        times(times.stream().mapToLong(Long::longValue).min().orElse(0),
            times.stream().mapToLong(Long::longValue).max().orElse(-1) + 1);
      }
      return;
    }
    Long from = filter instanceof GreaterThan more
        ? ms(more.value())
        : filter instanceof GreaterThanOrEqual more ? ms(more.value()) : null;
    Long to = filter instanceof LessThan less
        ? ms(less.value())
        : filter instanceof LessThanOrEqual less ? ms(less.value()) : null;
    times(from == null ? -Request.FOREVER : from, to == null ? Request.FOREVER : to + 1);
  }

  /** Narrows physical offsets. */
  public void places(long first, long end) {
    firstPlace = Math.max(firstPlace, first);
    endPlace = Math.min(endPlace, end);
  }

  /** Narrows store times (ms). */
  public void times(long from, long to) {
    since = Math.max(since, from);
    until = Math.min(until, to);
  }

  /** The ms that contains a time: store times are whole ms. */
  private static Long ms(Object value) {
    Instant time = value instanceof Instant instant
        ? instant
        : value instanceof Timestamp stamp ? stamp.toInstant() : null;
    if (time == null) {
      return null;
    }
    return Math.addExact(Math.multiplyExact(time.getEpochSecond(), 1000L), time.getNano() / 1_000_000);
  }
}
