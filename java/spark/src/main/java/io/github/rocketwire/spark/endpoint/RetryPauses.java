package io.github.rocketwire.spark.endpoint;

import java.io.InterruptedIOException;

/** The pauses between retries, and their number; a success resets them. */
public final class RetryPauses {
  private static final long FIRST_MS = 250;
  private static final long LONGEST_MS = 5000;
  private static final int TRIES = 5; // of a failing request
  private static final int BUSY_TRIES = 12; // the same if the broker is busy

  private int failures;
  private int refusals;

  /** Resets after a success. */
  public void reset() {
    failures = 0;
    refusals = 0;
  }

  /**
   * Waits because of an error that may pass.
   *
   * @throws RemotingException the given one: it is permanent, or came too often
   */
  public void waitAfter(RemotingException error) throws RemotingException, InterruptedIOException {
    boolean last;
    if (error.busy()) {
      last = ++refusals >= BUSY_TRIES;
    } else {
      last = ++failures >= TRIES || !mayPass(error);
    }
    if (last) {
      throw error;
    }
    sleep(failures + refusals);
  }

  /** Whether a broker, or the way to it, may be back later. */
  public static boolean mayPass(RemotingException error) {
    return error.kind == RemotingException.Kind.NOT_REACHED || error.kind == RemotingException.Kind.NO_BROKER;
  }

  /**
   * Waits after so many consecutive failures: twice as long each time, up to five seconds. An interrupt, by which Spark ends
   * a task, ends the wait.
   */
  public static void sleep(int failures) throws InterruptedIOException {
    try {
      Thread.sleep(Math.min(LONGEST_MS, FIRST_MS << Math.min(failures - 1, 10)));
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the task was ended");
    }
  }
}
