package io.github.rocketwire.spark.endpoint.write;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The messages of one request. */
final class Parcel {
  private static final int MOST_OF_A_BATCH = 512; // messages: a task with few rows uses more than one queue nevertheless

  final String topic;
  final int queueId;
  final byte[] body;
  /** Of a single message; null for a batch. */
  final String properties;
  final int flag;
  final int count;
  /** How often sending it failed. */
  int failures;
  /** The broker that failed last. */
  String avoided;

  private Parcel(String topic, int queueId, byte[] body, String properties, int flag, int count) {
    this.topic = topic;
    this.queueId = queueId;
    this.body = body;
    this.properties = properties;
    this.flag = flag;
    this.count = count;
  }

  /**
   * The requests that send messages of one topic and queue: batches, and single messages where there is one, or they are
   * delayed.
   */
  static List<Parcel> of(List<Message> messages, long mostBytes) {
    List<Parcel> found = new ArrayList<>();
    int start = 0;
    while (start < messages.size()) {
      Message first = messages.get(start);
      long size = first.itemSize();
      int end = start + 1;
      while (!first.delayed() && end < messages.size() && end - start < MOST_OF_A_BATCH
          && size + messages.get(end).itemSize() <= mostBytes) {
        size += messages.get(end++).itemSize();
      }
      if (end - start == 1) {
        String properties = new String(first.properties(), StandardCharsets.UTF_8);
        found.add(new Parcel(first.topic(), first.queueId(), first.body(), properties, first.flag(), 1));
      } else {
        ByteBuffer items = ByteBuffer.allocate((int) size);
        messages.subList(start, end).forEach(each -> each.putItem(items));
        found.add(new Parcel(first.topic(), first.queueId(), items.array(), null, 0, end - start));
      }
      start = end;
    }
    return found;
  }
}
