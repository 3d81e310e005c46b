package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.endpoint.Connection;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.Walk;
import io.github.rocketwire.spark.stream.MessageQueue;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Pull requests without membership of a group: they do not wait, and commit nothing. */
final class Pulls {

  /** The codes of answers with the offset of the next pull; all but success mean that there is no message. */
  static final Set<Integer> PULLED =
      Set.of(
          Facts.RESPONSE_SUCCESS, Facts.RESPONSE_PULL_NOT_FOUND, Facts.RESPONSE_PULL_RETRY_IMMEDIATELY,
          Facts.RESPONSE_PULL_OFFSET_MOVED);

  private Pulls() {}

  /** The fields of a request for messages of a queue from an offset on, whatever their tags. */
  static Map<String, String> fields(MessageQueue queue, long offset, long most, String group) {
    Map<String, String> fields = of(queue);
    fields.put(Facts.FIELD_CONSUMER_GROUP, group);
    fields.put(Facts.FIELD_QUEUE_OFFSET, Long.toString(offset));
    fields.put(Facts.FIELD_MAX_MSG_NUMS, Long.toString(most));
    fields.put(Facts.FIELD_SYS_FLAG, Integer.toString(Facts.PULL_SYS_FLAG_SUBSCRIPTION));
    fields.put(Facts.FIELD_COMMIT_OFFSET, "0");
    fields.put(Facts.FIELD_SUSPEND_TIMEOUT_MILLIS, "0");
    fields.put(Facts.FIELD_SUB_VERSION, "0");
    fields.put(Facts.FIELD_SUBSCRIPTION, "*");
    fields.put(Facts.FIELD_EXPRESSION_TYPE, "TAG");
    return fields;
  }

  /** The fields of a request about a queue. */
  static Map<String, String> of(MessageQueue queue) {
    Map<String, String> fields = new HashMap<>();
    fields.put(Facts.FIELD_TOPIC, queue.topic());
    fields.put(Facts.FIELD_QUEUE_ID, Integer.toString(queue.queueId()));
    return fields;
  }

  /** How many of an answer's messages are whole, from the first on; no more than so many are examined. */
  static int count(Connection.Answer answer, int most) {
    return walked(answer, most).count;
  }

  /** Store time in ms of an answer's first message; null when there is none, or it is damaged. */
  static Long storeTime(Connection.Answer answer) {
    if (walked(answer, 1).count == 0) {
      return null;
    }
    byte[] data = answer.body();
    return Record.int64(data, Record.storeTimestampAt(Record.int32(data, Facts.RECORD_SYS_FLAG_AT)));
  }

  private static Walk walked(Connection.Answer answer, int most) {
    Walk walk = new Walk();
    byte[] data = answer.body();
    walk.run(data, Walk.ANYWHERE, 0, answer.code() == Facts.RESPONSE_SUCCESS ? data.length : 0, false, most);
    return walk;
  }
}
