package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.cache.Cache;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Plans reads of columns beside a store in place of its log, which is read behind their end only. Tasks are cut between
 * files of the log, in which no record goes on from one to the next: so nothing of it is read to find where to cut.
 */
final class CachePlan {
  /** Bytes of log whose columns take as long to read as a byte of the log, about. */
  private static final long LIGHTER = 16;

  private CachePlan() {}

  /** The tasks that read columns, and those that walk what is behind them; null if no columns may be used, or fit. */
  static List<LogSpan> plan(Snapshot store, Request request, long least) throws IOException {
    Cache cache = request.mayUseCache() ? Cache.fitting(store, request) : null;
    if (cache == null) {
      return null;
    }
    long edge = Math.max(store.start, Math.min(cache.end(), store.end));
    List<LogSpan> spans = spans(store, request, cache, edge, least);
    spans.addAll(WalkPlan.plan(
        store, request, Math.max(1, least - spans.size()), List.of(new long[] {edge, store.end})));
    return spans;
  }

  private static List<LogSpan> spans(Snapshot store, Request request, Cache cache, long edge, long least) {
    long share = -Math.floorDiv(-(edge - store.start), least);
    long size = Math.max(1, Math.min(request.options.maxBytesPerPartition * LIGHTER, share));
    List<LogSpan> spans = new ArrayList<>();
    List<RowFile> together = new ArrayList<>();
    long start = store.start;
    long end = store.start;
    for (WalkPlan.FilePart part : WalkPlan.partsOfFiles(store, request, store.start, edge)) {
      // What lies in a missing file belongs to no task.
      if (!together.isEmpty() && (part.end() - start > size || part.start() > end)) {
        spans.add(LogSpan.cached(store.broker, start, end, together, cache));
        together.clear();
      }
      start = together.isEmpty() ? part.start() : start;
      end = part.end();
      together.add(part.file());
    }
    if (!together.isEmpty()) {
      spans.add(LogSpan.cached(store.broker, start, end, together, cache));
    }
    return spans;
  }
}
