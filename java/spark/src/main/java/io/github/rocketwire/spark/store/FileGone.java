package io.github.rocketwire.spark.store;

import java.io.IOException;

/** A file was removed since the directory was listed: a live broker removes old ones. */
public final class FileGone extends IOException {
  private static final long serialVersionUID = 1;

  public FileGone(String path) {
    super(path + " cannot be read: it was removed meanwhile");
  }
}
