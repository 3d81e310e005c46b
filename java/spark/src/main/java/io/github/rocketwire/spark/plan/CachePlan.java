package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.cache.Cache;
import io.github.rocketwire.spark.cache.Manifest;
import io.github.rocketwire.spark.cache.Segment;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * Plans reads of columns beside a store in place of its log, which is read behind their end only. Tasks are cut at
 * records that begin a block of the columns.
 */
final class CachePlan {
  /** The most rows of a task. */
  private static final long MOST_ROWS = 1 << 20;

  /** Bytes of log whose columns take as long to read as a byte of the log, about. */
  private static final long LIGHTER = 16;

  private CachePlan() {}

  /** The tasks that read columns, and those that walk what is behind them; null if no columns may be used, or fit. */
  static List<LogSpan> plan(Snapshot store, Request request, long least) throws IOException {
    Cache.Fitting found = request.mayUseCache() ? Cache.fitting(store, request) : null;
    if (found == null) {
      return null;
    }
    Cache cache = found.cache();
    long edge = Math.max(store.start, Math.min(cache.end(), store.end));
    List<LogSpan> spans = spans(store, request, cache, edge, cuts(store, found, request, least));
    spans.addAll(WalkPlan.plan(
        store, request, Math.max(1, least - spans.size()), List.of(new long[] {edge, store.end})));
    return spans;
  }

  /** Physical offsets of records with which tasks begin: of a block that would be too much for the task before. */
  private static NavigableSet<Long> cuts(Snapshot store, Cache.Fitting found, Request request, long least) {
    NavigableSet<Long> cuts = new TreeSet<>();
    List<Manifest.Part> segments =
        found.manifest().segments().stream().filter(part -> part.end() > store.start).toList();
    long most = mostRows(segments, found.manifest().end(), request, least);
    long rows = 0;
    for (Manifest.Part part : segments) {
      try (Segment segment = new Segment(found.cache().folder(), part)) {
        for (int number = 0; number < segment.blocks(); number++) {
          if (rows > 0 && rows + segment.rowsOf(number) > most) {
            cuts.add(segment.longs("physical_offset", number)[0]);
            rows = 0;
          }
          rows += segment.rowsOf(number);
        }
      } catch (IOException error) {
        continue; // a damaged block: its task will find it
      }
    }
    return cuts;
  }

  /** How many rows a task has at most, but for those of one block. */
  private static long mostRows(List<Manifest.Part> segments, long end, Request request, long least) {
    if (segments.isEmpty()) {
      return MOST_ROWS;
    }
    long rows = segments.stream().mapToLong(Manifest.Part::rows).sum();
    double asLog = (double) rows * logOfTask(request) / (end - segments.get(0).first());
    return (long) Math.min(Math.min(MOST_ROWS, asLog), -Math.floorDiv(-rows, least));
  }

  /** The bytes of log whose columns a task reads at most, but for those of one block, or of one file. */
  private static long logOfTask(Request request) {
    return request.options.maxBytesPerPartition * LIGHTER;
  }

  private static List<LogSpan> spans(
      Snapshot store, Request request, Cache cache, long edge, NavigableSet<Long> cuts) {
    List<LogSpan> spans = new ArrayList<>();
    List<RowFile> together = new ArrayList<>();
    long start = store.start;
    long end = store.start;
    for (WalkPlan.FilePart part : WalkPlan.partsOfFiles(store, request, store.start, edge)) {
      List<Long> places = new ArrayList<>(cuts.subSet(part.start(), false, part.end(), false));
      places.add(part.end());
      long from = part.start();
      for (long place : places) {
        boolean large = from == part.start() && from - start >= logOfTask(request);
        // What lies in a missing file belongs to no task.
        if (!together.isEmpty() && (large || cuts.contains(from) || from > end)) {
          spans.add(LogSpan.cached(store.broker, start, end, together, cache));
          together.clear();
        }
        start = together.isEmpty() ? from : start;
        end = place;
        together.add(part.file());
        from = place;
      }
    }
    if (!together.isEmpty()) {
      spans.add(LogSpan.cached(store.broker, start, end, together, cache));
    }
    return spans;
  }
}
