package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.Walk;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Selects the requested records of a buffer. */
public final class Selection {
  /** A topic of the log, and whether its messages are wanted. */
  private record Topic(byte[] name, String text, boolean taken) {}

  private static final int KNOWN = 1 << 12;

  private final Request request;
  private final String broker;
  private final Topic[] topics = new Topic[KNOWN];
  private final boolean byQueue;
  private final boolean byTable;

  public Selection(Request request, String broker) {
    this.request = request;
    this.broker = broker;
    Options options = request.options;
    byTable = options.starting != null && options.starting.word() == null
        || options.ending != null && options.ending.word() == null;
    byQueue = byTable || request.hasQueues() || request.narrowed.hasOffsets();
  }

  /** Keeps those that match, of records whose topic, queue and offset were checked in their queue's entries. */
  public void ofEntries(byte[] data, Walk walk) {
    if (request.hasTimes()) {
      int kept = 0;
      for (int i = 0; i < walk.count; i++) {
        if (isInTime(data, walk.position[i])) {
          walk.move(i, kept++);
        }
      }
      walk.count = kept;
    }
  }

  /** Keeps those that match, of any records. */
  void ofLog(byte[] data, Walk walk) {
    boolean timed = request.hasTimes();
    int kept = 0;
    for (int i = 0; i < walk.count; i++) {
      Topic topic = topic(data, walk.topic[i], walk.topicLength[i]);
      int at = walk.position[i];
      if (topic.taken() && (!byQueue || takesOffset(topic.text(), data, at)) && (!timed || isInTime(data, at))) {
        walk.move(i, kept++);
      }
    }
    walk.count = kept;
  }

  private boolean isInTime(byte[] data, int at) {
    return isInTime(Record.int64(data, at + Record.storeTimestampAt(Record.int32(data, at + Facts.RECORD_SYS_FLAG_AT))));
  }

  /** Whether messages of a store time (ms) are wanted. */
  boolean isInTime(long time) {
    return time >= request.since() && time < request.until();
  }

  /** Whether queues, or offsets in them, are restricted. */
  boolean isByQueue() {
    return byQueue;
  }

  private boolean takesOffset(String topic, byte[] data, int at) {
    return takesOffset(
        topic, Record.int32(data, at + Facts.RECORD_QUEUE_ID_AT), Record.int64(data, at + Facts.RECORD_QUEUE_OFFSET_AT));
  }

  /** Whether these restrictions take a message. */
  boolean takesOffset(String topic, int queueId, long offset) {
    if (!request.takesQueue(queueId) || offset < request.narrowed.firstOffset || offset >= request.narrowed.endOffset) {
      return false;
    }
    if (!byTable) {
      return true;
    }
    Long first = request.options.starting == null ? null : request.options.starting.of(broker, topic, queueId);
    if (first != null && first != Options.EARLIEST && (first < 0 || offset < first)) {
      return false;
    }
    Long end = request.options.ending == null ? null : request.options.ending.of(broker, topic, queueId);
    return end == null || end == Options.LATEST || end >= 0 && offset < end;
  }

  private Topic topic(byte[] data, int at, int length) {
    int hash = length;
    for (int i = at; i < at + length; i++) {
      hash = 31 * hash + data[i];
    }
    int slot = (hash ^ hash >>> 12) & KNOWN - 1;
    Topic known = topics[slot];
    if (known == null || !Arrays.equals(known.name(), 0, known.name().length, data, at, at + length)) {
      String text = new String(data, at, length, StandardCharsets.UTF_8);
      known = new Topic(Arrays.copyOfRange(data, at, at + length), text, request.takesTopic(text));
      topics[slot] = known;
    }
    return known;
  }
}
