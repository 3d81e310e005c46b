package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.endpoint.Pauses;
import io.github.rocketwire.spark.endpoint.RemotingException;
import java.io.InterruptedIOException;

/** The pauses between retries, and their number; a success resets them. */
final class Patience {
  private static final int TRIES = 5; // of a failing request
  private static final int BUSY_TRIES = 12; // the same if the broker is busy

  private int failures;
  private int refusals;

  /** Resets after a success. */
  void renew() {
    failures = 0;
    refusals = 0;
  }

  /**
   * Waits because of an error that may pass.
   *
   * @throws RemotingException the given one: it is permanent, or came too often
   */
  void bear(RemotingException error) throws RemotingException, InterruptedIOException {
    boolean last;
    if (error.busy()) {
      last = ++refusals >= BUSY_TRIES;
    } else {
      last = ++failures >= TRIES || !mayPass(error);
    }
    if (last) {
      throw error;
    }
    Pauses.sleep(failures + refusals);
  }

  /** Whether a broker, or the way to it, may be there again later. */
  static boolean mayPass(RemotingException error) {
    return error.kind == RemotingException.Kind.NOT_REACHED || error.kind == RemotingException.Kind.NO_BROKER;
  }
}
