package io.github.rocketwire.spark.stream;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.store.FileGone;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.QueueKey;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.Snapshot;
import io.github.rocketwire.spark.stream.QueueOffsets.LastRead;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;

/**
 * Which store a stream has read: the newest message that was read of each. Offsets are numbers, which another store may
 * have, too. It is the message farthest in the log of those read, so that a log that lost any of them lacks this one. A
 * message that its broker removed meanwhile, as too old, shows nothing.
 */
final class LastMessages {
  private LastMessages() {}

  /** The brokers whose store is not the one of which these messages were read, and what it has in their places. */
  static Map<String, String> differences(List<Snapshot> stores, Map<String, LastRead> read) throws IOException {
    Map<String, String> found = new HashMap<>();
    for (Snapshot store : stores) {
      LastRead last = read.get(store.broker);
      if (last == null || last.physicalOffset() < store.start) {
        continue;
      }
      long place = last.physicalOffset();
      boolean isBehind = place >= store.end;
      try (Log log = new Log(store.directory.commitLog)) {
        boolean isGone = log.fileOf(place) == null && !isBehind;
        if (isGone || last.equals(messageAt(log, place))) {
          continue;
        }
      } catch (FileGone gone) {
        continue;
      }
      String now = isBehind ? "the log ends at " + store.end + " now" : "the log has another one there now";
      found.put(
          store.broker,
          "the message at physical offset " + place + " of " + store.broker + " was read before, and " + now);
    }
    return found;
  }

  /** The message farthest in a store's log of those between two offsets; null without one. */
  static LastRead newest(Snapshot store, Map<MessageQueue, Long> before, NavigableMap<MessageQueue, Long> ends)
      throws IOException {
    List<Long> places = new ArrayList<>();
    for (Map.Entry<MessageQueue, Long> entry : MessageQueue.of(store.broker, ends).entrySet()) {
      MessageQueue queue = entry.getKey();
      if (!entry.getValue().equals(before.get(queue))) {
        long place = store.placeBefore(new QueueKey(queue.topic(), queue.queueId()), entry.getValue());
        if (place >= 0) {
          places.add(place);
        }
      }
    }
    places.sort(Comparator.reverseOrder());
    try (Log log = new Log(store.directory.commitLog)) {
      for (long place : places) {
        try {
          // A damaged entry, or a damaged message, is skipped.
          LastRead message = messageAt(log, place);
          if (message != null) {
            return message;
          }
        } catch (FileGone gone) {
          continue;
        }
      }
    }
    return null;
  }

  private static LastRead messageAt(Log log, long place) throws IOException {
    byte[] head = log.read(place, Facts.RECORD_HEAD_MOST);
    Long time = Record.storeTime(head, place);
    return time == null ? null : new LastRead(place, time, Record.bodyCrc(head));
  }
}
