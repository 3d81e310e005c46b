package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.FileGone;
import io.github.rocketwire.spark.store.OpenFile;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Salvage;
import io.github.rocketwire.spark.store.Walk;
import java.io.IOException;

/**
 * Reads a part of the log from its beginning to its end, past damage. A record that begins in the part belongs to it,
 * wherever it ends. Records that existed when the read was planned and do not exist any more are lost; bytes that never
 * were a record are damaged, and the next whole one is searched.
 */
final class WalkReader extends BlockReader {
  /** A record ends with its topic, of a character at least, the length of its properties, and these. */
  private static final int RECORDS_END = 3;

  private static final String LENGTHS = "its lengths do not fit together";
  private static final String HOLE = "nothing was ever written here, but behind it";

  private final LogSpan span;
  private final Selection selection;
  private final Walk walk = new Walk();
  private byte[] data = new byte[BLOCK];
  private int number = -1;
  private OpenFile file;
  private long end;
  /** Where the block begins, and where in it the walk continues; the latter is -1 when the next block is to be read. */
  private long at;

  private int position = -1;
  private int filled;
  private boolean whole;
  private boolean isShort;
  /** The size of the record to be read next, where that is more than a block, or than the rest of the part. */
  private int size;

  WalkReader(LogSpan span, Request request) {
    super(request, span.broker());
    this.span = span;
    selection = new Selection(request, span.broker());
  }

  @Override
  protected boolean more() throws IOException {
    if (position < 0) {
      while (file == null || at >= end) {
        if (!open()) {
          return false;
        }
      }
      long wanted = Math.max(Math.max(Math.min(BLOCK, end - at), size), Facts.RECORD_HEAD_MOST);
      int length = (int) Math.min(file.file().end() - at, wanted);
      if (length > data.length) {
        data = new byte[length];
      }
      filled = file.read(at, data, 0, length);
      isShort = filled < length;
      whole = isShort || at + length == file.file().end();
      position = 0;
    }
    walk.run(data, at, position, filled, whole, Walk.MOST);
    while (walk.count > 0 && walk.position[walk.count - 1] >= end - at) {
      walk.count--;
    }
    position = walk.next;
    Walk.Stop stop = walk.stop;
    String reason = walk.reason;
    selection.ofLog(data, walk);
    rows.of(data, walk, file.file().path());
    if (stop == Walk.Stop.MORE) {
      at = cut();
    } else if (stop == Walk.Stop.BLANK || stop != Walk.Stop.FULL && at + position >= end) {
      at = end;
    } else if (stop != Walk.Stop.FULL) {
      at = past(at + position, stop == Walk.Stop.UNWRITTEN, reason);
    }
    if (stop != Walk.Stop.FULL) {
      position = -1;
    }
    return true;
  }

  /** Opens the next file; false when there is none. */
  private boolean open() throws IOException {
    close(file);
    file = null;
    if (++number >= span.files().size()) {
      return false;
    }
    RowFile row = span.files().get(number);
    at = Math.max(span.start(), row.start());
    end = Math.min(span.end(), row.end());
    size = 0;
    try {
      file = new OpenFile(row);
    } catch (FileGone gone) {
      String what = row.path() + " was removed since the read was planned";
      Ranges.lost(what, request.options.failOnDataLoss, Ranges.REMEDY);
    }
    return true;
  }

  /** Where to continue when a block ends inside a record. */
  private long cut() throws IOException {
    if (position > 0) {
      size = 0;
      return at + position;
    }
    // Not even one fits: room for it is made only if its head is valid.
    int promised = Record.promisedSize(data, 0, filled, at);
    if (promised < 0 || promised == size) {
      return past(at, false, LENGTHS);
    }
    size = promised;
    return at;
  }

  /** Where to continue behind bytes that are no record. */
  private long past(long here, boolean unwritten, String reason) throws IOException {
    size = 0;
    long following = unwritten ? Salvage.nextRecord(file, here + 1) : Salvage.nextPlace(file, here);
    if (following >= end) {
      following = -1;
    }
    String path = file.file().path();
    if (following < 0 && (unwritten || isShort || endsInZeros())) {
      String what =
          path + " has nothing from physical offset " + here + " to " + end + ": it was cut, or never written";
      Ranges.lost(what, request.options.failOnDataLoss, Ranges.REMEDY);
    } else if (!request.isRestricted() || request.options.mode == Options.Mode.FAILFAST) {
      // A damaged record has no topic: if topics are restricted, it is unknown whether it belonged to them.
      rows.damaged(Damaged.at(path, here, unwritten ? HOLE : reason));
    }
    return following < 0 ? end : following;
  }

  /** Whether there are zeros before the part's end, where a record ended inside the file: it is lost. */
  private boolean endsInZeros() throws IOException {
    long start = end - RECORDS_END;
    if (start < file.file().start() || end >= file.file().end()) {
      return false;
    }
    for (byte one : file.read(start, RECORDS_END)) {
      if (one != 0) {
        return false;
      }
    }
    return true;
  }

  private static void close(OpenFile file) throws IOException {
    if (file != null) {
      file.close();
    }
  }

  @Override
  public void close() throws IOException {
    close(file);
    super.close();
  }
}
