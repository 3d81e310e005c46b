package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Entries;
import io.github.rocketwire.spark.store.FileGone;
import io.github.rocketwire.spark.store.Log;
import io.github.rocketwire.spark.store.OpenFile;
import io.github.rocketwire.spark.store.Queue;
import io.github.rocketwire.spark.store.QueueFiles;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Plans walks over the log, cut at starts of records, which are known from consume queues. */
final class WalkPlan {
  /** Number of queues (the largest) whose entries give starts of records. */
  private static final int READ_QUEUES = 4;
  /** Largest distance of a cut from its ideal place, as a part of a span's size. */
  private static final int NEAR = 8;

  private final Snapshot store;
  private final Request request;
  private final List<QueueRange> guides = new ArrayList<>();
  private long low;
  private long high;

  private WalkPlan(Snapshot store, Request request) throws IOException {
    this.store = store;
    this.request = request;
    low = Math.max(store.start, request.narrowed.firstPlace);
    high = Math.min(store.end, request.narrowed.endPlace);
    List<QueueFiles> largest = new ArrayList<>(store.files().values());
    largest.sort(Comparator.comparingLong((QueueFiles queue) ->
            queue.files().get(queue.files().size() - 1).end() - queue.files().get(0).start())
        .reversed());
    for (QueueFiles files : largest.subList(0, Math.min(READ_QUEUES, largest.size()))) {
      try (Queue queue = new Queue(files, store.start)) {
        if (queue.end > queue.min) {
          guides.add(new QueueRange(files.topic(), files.queueId(), files.path(), queue.min, queue.end, files.files()));
        }
      }
    }
  }

  /**
   * Spans of the log that are walked.
   *
   * @param parts ranges of physical offsets, each from a record on; null for all of the log
   */
  static List<LogSpan> plan(Snapshot store, Request request, long least, List<long[]> parts) throws IOException {
    WalkPlan plan = new WalkPlan(store, request);
    if (request.hasTimes()) {
      plan.narrow();
    }
    List<long[]> wanted = parts == null ? List.of(new long[] {store.start, store.end}) : parts;
    if (store.lostTail() != null && wanted.stream().anyMatch(part -> part[1] >= store.end)) {
      store.lostTail().report(store.broker, request);
    }
    long total = wanted.stream()
        .mapToLong(part -> Math.max(0, Math.min(part[1], plan.high) - Math.max(part[0], plan.low)))
        .sum();
    long size = Math.max(1, Math.min(request.options.maxBytesPerPartition, -Math.floorDiv(-total, least)));
    List<LogSpan> spans = new ArrayList<>();
    for (long[] part : wanted) {
      plan.spans(Math.max(part[0], plan.low), Math.min(part[1], plan.high), size, spans);
    }
    return spans;
  }

  private void spans(long from, long to, long size, List<LogSpan> spans) throws IOException {
    for (FilePart part : partsOfFiles(store, request, from, to)) {
      long first = part.start;
      for (long cut : recordPlaces(part.file, part.start, part.end, size)) {
        spans.add(new LogSpan(store.broker, first, cut, List.of(part.file), null, null, false));
        first = cut;
      }
      spans.add(new LogSpan(store.broker, first, part.end, List.of(part.file), null, null, false));
    }
  }

  /** A part of a file of the log, between two physical offsets. */
  record FilePart(RowFile file, long start, long end) {}

  /** The files with messages between two physical offsets; one that is missing is an error, or a warning. */
  static List<FilePart> partsOfFiles(Snapshot store, Request request, long from, long to) {
    List<FilePart> found = new ArrayList<>();
    long behind = from;
    for (RowFile file : store.directory.commitLog) {
      long start = Math.max(file.start(), from);
      long end = Math.min(file.end(), to);
      if (start >= end) {
        continue;
      }
      if (start > behind) {
        String what = "the " + (start - behind) + " bytes of the log before " + file.path() + " are missing";
        Ranges.lost(what, request.options.failOnDataLoss, Ranges.REMEDY);
      }
      behind = end;
      found.add(new FilePart(file, start, end));
    }
    return found;
  }

  /** Where records begin, about {@code size} bytes from each other. */
  private List<Long> recordPlaces(RowFile file, long start, long end, long size) throws IOException {
    List<Long> found = new ArrayList<>();
    if (end - start <= size || guides.isEmpty()) {
      return found;
    }
    try (OpenFile opened = new OpenFile(file)) {
      for (long reached = start; reached + size < end; ) {
        long place = placeBehind(opened, reached + size, size / NEAR);
        if (place < 0 || place >= end) {
          break;
        }
        found.add(place);
        reached = place;
      }
    } catch (FileGone gone) {
      return found;
    }
    return found;
  }

  private long placeBehind(OpenFile file, long wanted, long near) throws IOException {
    long best = -1;
    for (QueueRange guide : guides) {
      try (Entries entries = new Entries(guide.files())) {
        long number = entries.bisectPlaces(guide.first(), guide.end(), place -> place < wanted);
        if (number == guide.end()) {
          continue;
        }
        Entries.Entry entry = entries.safe(number);
        long place = entry.place();
        // A hole in the queue has the physical offset 0.
        if (place < wanted || best >= 0 && place >= best || place >= file.file().end()) {
          continue;
        }
        byte[] head = file.read(place, Facts.RECORD_HEAD_MOST);
        if (Record.promisedSize(head, 0, head.length, place) == entry.size()) {
          best = place;
          if (place <= wanted + near) {
            break;
          }
        }
      }
    }
    return best;
  }

  /** Narrows to the part of the log, from a record on, that can contain messages of the requested times. */
  private void narrow() throws IOException {
    long since = request.sinceByClock();
    long until = request.untilByClock();
    try (Log log = new Log(store.directory.commitLog)) {
      for (RowFile file : store.directory.commitLog) {
        if (log.storeTime(file.start(), Long.MAX_VALUE) < since) {
          low = Math.max(low, file.start());
        }
        if (log.storeTime(file.start(), -Long.MAX_VALUE) >= until) {
          high = Math.min(high, file.start());
        }
      }
      for (QueueRange guide : guides) {
        try (Entries entries = new Entries(guide.files())) {
          long number = entries.bisectPlaces(
              guide.first(), guide.end(), place -> Planner.time(log, place, Long.MAX_VALUE) < since);
          if (number > guide.first()) {
            long place = entries.safe(number - 1).place();
            if (log.storeTime(place, Long.MAX_VALUE) < since) {
              low = Math.max(low, place);
            }
          }
          number = entries.bisectPlaces(
              guide.first(), guide.end(), place -> Planner.time(log, place, -Long.MAX_VALUE) < until);
          if (number < guide.end()) {
            long place = entries.safe(number).place();
            if (log.storeTime(place, -Long.MAX_VALUE) >= until) {
              high = Math.min(high, place);
            }
          }
        }
      }
    }
  }
}
