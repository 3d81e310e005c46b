package io.github.rocketwire.spark.read;

/** A place of the log without a valid message: the values that are certain, and what is wrong. */
public record Damaged(
    String file, Long physicalOffset, String reason, String topic, Integer queueId, Long queueOffset,
    Integer storeSize) {
  static Damaged at(String file, long place, String reason) {
    return new Damaged(file, place, reason, null, null, null, null);
  }
}
