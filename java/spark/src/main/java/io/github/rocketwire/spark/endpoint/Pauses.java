package io.github.rocketwire.spark.endpoint;

import java.io.InterruptedIOException;

/** The waits before a failed request is sent again. */
public final class Pauses {
  private static final long FIRST_MS = 250;
  private static final long LONGEST_MS = 5000;

  private Pauses() {}

  /** Milliseconds to wait after so many consecutive failures: twice as long each time, up to five seconds. */
  static long ms(int failures) {
    return Math.min(LONGEST_MS, FIRST_MS << Math.min(failures - 1, 10));
  }

  /** Waits so long; an interrupt, by which Spark ends a task, ends the wait. */
  public static void sleep(int failures) throws InterruptedIOException {
    try {
      Thread.sleep(ms(failures));
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the task was ended");
    }
  }
}
