package io.github.rocketwire.spark.store;

import java.io.Serializable;

/** A file of a row (commit log or consume queue): {@code start} is the offset in bytes that its name gives. */
public record RowFile(String path, long start, long size, long modified) implements Serializable {
  /** Offset of the first byte after the file. */
  public long end() {
    return start + size;
  }
}
