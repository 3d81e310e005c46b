package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;
import java.io.Closeable;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Single places of the whole commit log; the files that were used last stay open. */
public final class Log implements Closeable {
  private static final int MOST_OPEN = 8;
  private final List<RowFile> files;
  private final Map<Long, OpenFile> open = new LinkedHashMap<>(16, 0.75f, true);

  public Log(List<RowFile> files) {
    this.files = files;
  }

  /** The file that holds a physical offset; null when there is none. */
  public RowFile fileOf(long offset) {
    int low = 0;
    int high = files.size() - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      RowFile file = files.get(middle);
      if (offset < file.start()) {
        high = middle - 1;
      } else if (offset >= file.end()) {
        low = middle + 1;
      } else {
        return file;
      }
    }
    return null;
  }

  /** A file, open. */
  public OpenFile opened(RowFile file) throws IOException {
    OpenFile found = open.get(file.start());
    if (found == null) {
      found = new OpenFile(file);
      open.put(file.start(), found);
      if (open.size() > MOST_OPEN) {
        var oldest = open.entrySet().iterator();
        oldest.next().getValue().close();
        oldest.remove();
      }
    }
    return found;
  }

  /** Bytes of one file from a physical offset on; fewer, or none, where the log has no more. */
  public byte[] read(long offset, int length) throws IOException {
    RowFile file = fileOf(offset);
    return file == null ? new byte[0] : opened(file).read(offset, length);
  }

  /** Store time in ms of the record at a physical offset; another value if there is no valid one. */
  public long storeTime(long offset, long otherwise) throws IOException {
    try {
      Long found = Record.storeTime(read(offset, Facts.RECORD_HEAD_MOST), offset);
      return found == null ? otherwise : found;
    } catch (FileGone gone) {
      return otherwise;
    }
  }

  @Override
  public void close() throws IOException {
    for (OpenFile file : open.values()) {
      file.close();
    }
    open.clear();
  }
}
