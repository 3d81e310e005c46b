package io.github.rocketwire.spark.store;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/** How many files may stay open between two polls of a stream: half of those that the process may open. */
public final class OpenFileBudget {
  private static final int UNKNOWN = 512;

  private long left;

  OpenFileBudget(long files) {
    left = files;
  }

  public OpenFileBudget() {
    left = ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
        ? system.getMaxFileDescriptorCount() / 2
        : UNKNOWN;
  }

  /** Takes one file; false if there are none left. */
  boolean take() {
    if (left <= 0) {
      return false;
    }
    left--;
    return true;
  }

  /** Gives one back. */
  void give() {
    left++;
  }
}
