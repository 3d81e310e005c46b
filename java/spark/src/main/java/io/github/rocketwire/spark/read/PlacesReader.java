package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.FileGone;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Walk;
import java.io.IOException;

/** Reads the records at possible places: a place without one belonged to another message, or to a removed one. */
final class PlacesReader extends BlockReader {
  private final LogSpan span;
  private final Selection selection;
  private final Log log;
  private final Walk walk = new Walk();
  private int next;

  PlacesReader(LogSpan span, Request request) {
    super(request, span.broker());
    this.span = span;
    selection = new Selection(request, span.broker());
    log = new Log(span.files());
  }

  @Override
  protected boolean more() throws IOException {
    if (next == span.places().length) {
      return false;
    }
    long place = span.places()[next++];
    RowFile file = log.fileOf(place);
    if (file == null) {
      return true;
    }
    try {
      byte[] head = log.read(place, Facts.RECORD_HEAD_MOST);
      int size = Record.promisedSize(head, 0, head.length, place);
      byte[] data = size < 0 ? head : log.read(place, size);
      walk.clear();
      if (data.length == size && walk.take(data, 0, size, place, size)) {
        selection.ofLog(data, walk);
        rows.of(data, walk, file.path());
      }
    } catch (FileGone gone) {
      String what = file.path() + " was removed since the read was planned";
      Ranges.lost(what, request.options.failOnDataLoss, Ranges.REMEDY);
    }
    return true;
  }

  @Override
  public void close() throws IOException {
    log.close();
    super.close();
  }
}
