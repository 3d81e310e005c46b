package io.github.rocketwire.spark.store;

import io.github.rocketwire.spark.Facts;
import java.io.IOException;

/** Finds the next record of a commit log file behind damage. */
public final class Salvage {
  private static final int BLOCK = 4 << 20;
  private static final int HEAD = Facts.RECORD_PHYSICAL_OFFSET_AT + 8;

  private Salvage() {}

  /** Physical offset of the first whole record of a file at or behind a physical offset; -1 when there is none. */
  public static long nextRecord(OpenFile file, long offset) throws IOException {
    byte[] data = new byte[BLOCK + HEAD];
    for (long at = offset; ; at += BLOCK) {
      int length = file.read(at, data, 0, data.length);
      for (int place = 0; place + HEAD <= length; place++) {
        if (data[place + Facts.RECORD_MAGIC_AT] == (byte) 0xDA
            && Record.isMagic(Record.int32(data, place + Facts.RECORD_MAGIC_AT))
            && Record.int64(data, place + Facts.RECORD_PHYSICAL_OFFSET_AT) == at + place
            && Record.isAt(file, at + place)) {
          return at + place;
        }
      }
      if (length < data.length) {
        return -1;
      }
    }
  }

  /** Where in a file a record may begin behind a damaged one; -1 when none does. */
  public static long nextPlace(OpenFile file, long damaged) throws IOException {
    byte[] head = file.read(damaged, Facts.RECORD_HEAD_MOST);
    int size = Record.promisedSize(head, 0, head.length, damaged);
    if (size > 0) {
      long next = damaged + size;
      byte[] behind = file.read(next, Facts.RECORD_HEAD_MOST);
      boolean blank = behind.length >= Facts.RECORD_BLANK_SIZE
          && Record.int32(behind, Facts.RECORD_MAGIC_AT) == Facts.RECORD_MAGIC_BLANK;
      if (blank || Record.promisedSize(behind, 0, behind.length, next) > 0) {
        return next;
      }
    }
    return nextRecord(file, damaged + 1);
  }
}
