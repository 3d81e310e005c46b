package io.github.rocketwire.spark.endpoint.write;

import java.nio.ByteBuffer;

/**
 * A message to be sent.
 *
 * @param queueId the queue that its row names; -1 for any
 * @param delayed whether it is delivered later: it is sent alone
 * @param properties as they are encoded
 */
record Message(String topic, int queueId, boolean delayed, byte[] body, byte[] properties, int flag) {
  private static final int HEAD = 5 * Integer.BYTES;

  /** Bytes that it takes in a batch. */
  int itemSize() {
    return HEAD + body.length + Short.BYTES + properties.length;
  }

  /** Writes it as a batch has it: the size, magic number and CRC (both 0), the flag, the body and the properties. */
  void putItem(ByteBuffer to) {
    to.putInt(itemSize()).putInt(0).putInt(0).putInt(flag);
    to.putInt(body.length).put(body).putShort((short) properties.length).put(properties);
  }
}
