package io.github.rocketwire.spark.endpoint.write;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.endpoint.Connection;
import io.github.rocketwire.spark.endpoint.RemotingException;
import io.github.rocketwire.spark.endpoint.RetryPauses;
import java.io.Closeable;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Sends messages and waits for the acknowledgements: several requests are in flight, to several brokers.
 *
 * <p>Theory: a request is answered once, or its connection fails. Unacknowledged messages are sent again, to another
 * queue if any is allowed. So a message whose answer was lost may be stored twice, but none is missing.
 */
final class Sender implements Closeable {
  private static final String GROUP = "rocketwire_spark";
  private static final int IN_FLIGHT = 8; // requests to one broker; as many bodies are in memory
  private static final int BUSY_TRIES = 12;
  /** Codes that mean that the broker has the message: maybe not yet on its disk, or on a slave. */
  private static final Set<Integer> STORED = Set.of(0, 10, 11, 12);

  private record Sent(int opaque, Parcel parcel, Routes.Target target) {}

  private record Lane(Connection connection, Deque<Sent> waiting) {}

  private final Routes routes;
  private final int retries;
  private final Map<String, Lane> lanes = new HashMap<>();
  private List<Parcel> failed = new ArrayList<>();
  private int rounds; // of sending again, since the last acknowledgement
  private long acknowledged;

  Sender(Routes routes, int retries) {
    this.routes = routes;
    this.retries = retries;
  }

  /** The number of messages that brokers have acknowledged. */
  long acknowledged() {
    return acknowledged;
  }

  /**
   * Sends a parcel; the acknowledgement may come later.
   *
   * @throws SourceException one was not acknowledged however often it was sent, or there is no such topic or queue
   */
  void send(Parcel parcel) throws RemotingException, InterruptedIOException {
    post(parcel);
    if (!failed.isEmpty()) {
      finish();
    }
  }

  /** Waits until all is acknowledged; errors are those of {@link #send}. */
  void finish() throws RemotingException, InterruptedIOException {
    settleAll();
    while (!failed.isEmpty()) {
      List<Parcel> again = failed;
      failed = new ArrayList<>();
      RetryPauses.sleep(++rounds);
      Set<String> topics = new HashSet<>();
      again.forEach(parcel -> topics.add(parcel.topic));
      topics.forEach(routes::renew);
      for (Parcel parcel : again) {
        post(parcel);
      }
      settleAll();
    }
  }

  @Override
  public void close() {
    lanes.values().forEach(lane -> lane.connection.close());
    routes.close();
  }

  private void post(Parcel parcel) throws RemotingException {
    Routes.Target target = routes.choose(parcel.topic, parcel.queueId, parcel.avoided);
    try {
      Lane lane = lane(target.broker());
      while (lane.waiting.size() >= IN_FLIGHT) {
        settle(target.broker());
        lane = lane(target.broker());
      }
      int code = parcel.properties == null ? Facts.CODE_SEND_BATCH_MESSAGE : Facts.CODE_SEND_MESSAGE_V2;
      int opaque = lane.connection.send(code, fields(parcel, target.queueId()), parcel.body);
      lane.waiting.add(new Sent(opaque, parcel, target));
    } catch (RemotingException error) {
      lost(target.broker(), error);
      fail(parcel, target, error);
    }
  }

  private Lane lane(String broker) throws RemotingException {
    Lane found = lanes.get(broker);
    if (found == null) {
      found = new Lane(routes.connect(broker), new ArrayDeque<>());
      lanes.put(broker, found);
    }
    return found;
  }

  /** The fields of both kinds of requests, by their short names. */
  private static Map<String, String> fields(Parcel parcel, int queueId) {
    Map<String, String> fields = new HashMap<>();
    put(fields, Facts.SHORT_PRODUCER_GROUP, GROUP);
    put(fields, Facts.SHORT_TOPIC, parcel.topic);
    put(fields, Facts.SHORT_DEFAULT_TOPIC, Facts.AUTO_CREATE_TOPIC);
    put(fields, Facts.SHORT_DEFAULT_TOPIC_QUEUE_NUMS, Integer.toString(Routes.MODEL_QUEUES));
    put(fields, Facts.SHORT_QUEUE_ID, Integer.toString(queueId));
    put(fields, Facts.SHORT_SYS_FLAG, "0"); // the body is not compressed
    put(fields, Facts.SHORT_BORN_TIMESTAMP, Long.toString(System.currentTimeMillis()));
    put(fields, Facts.SHORT_FLAG, Integer.toString(parcel.flag));
    put(fields, Facts.SHORT_PROPERTIES, parcel.properties == null ? "" : parcel.properties);
    put(fields, Facts.SHORT_RECONSUME_TIMES, "0");
    put(fields, Facts.SHORT_UNIT_MODE, "false");
    put(fields, Facts.SHORT_BATCH, Boolean.toString(parcel.properties == null));
    return fields;
  }

  private static void put(Map<String, String> fields, char name, String value) {
    fields.put(String.valueOf(name), value);
  }

  private void settleAll() {
    for (String broker : List.copyOf(lanes.keySet())) {
      while (lanes.containsKey(broker) && !lanes.get(broker).waiting.isEmpty()) {
        settle(broker);
      }
    }
  }

  /** Takes the answer to the oldest request to a broker. */
  private void settle(String broker) {
    Lane lane = lanes.get(broker);
    Sent sent = lane.waiting.remove();
    try {
      Connection.Answer answer = lane.connection.answer(sent.opaque);
      if (STORED.contains(answer.code())) {
        acknowledged += sent.parcel.count;
        rounds = 0;
      } else {
        fail(sent.parcel, sent.target, RemotingException.refused(lane.connection.what, answer.code(), answer.remark()));
      }
    } catch (RemotingException error) {
      lost(broker, error);
      fail(sent.parcel, sent.target, error);
    }
  }

  /** A connection failed, and with it its requests in flight. */
  private void lost(String broker, RemotingException error) {
    Lane lane = lanes.remove(broker);
    if (lane != null) {
      lane.connection.close();
      lane.waiting.forEach(each -> fail(each.parcel, each.target, error));
    }
  }

  private void fail(Parcel parcel, Routes.Target target, RemotingException error) {
    boolean last;
    if (error.busy()) {
      // The broker may store it later. As long as it stores others, the task continues.
      last = rounds >= BUSY_TRIES;
    } else {
      parcel.failures++;
      last = parcel.failures > retries || error.code == Facts.RESPONSE_MESSAGE_ILLEGAL;
    }
    if (last) {
      SourceException given = new SourceException(
          SourceException.SEND_FAILED,
          parcel.count + " messages were not acknowledged by " + target.broker() + "/" + parcel.topic + "/"
              + target.queueId() + ": " + error.getMessage(),
          "Others of this write may have been stored; see the log of the broker, and write again");
      given.initCause(error);
      throw given;
    }
    parcel.avoided = target.broker();
    failed.add(parcel);
  }
}
