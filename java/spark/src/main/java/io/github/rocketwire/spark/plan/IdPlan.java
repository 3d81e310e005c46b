package io.github.rocketwire.spark.plan;

import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.IndexFiles;
import io.github.rocketwire.spark.store.LostTail;
import io.github.rocketwire.spark.store.RowFile;
import io.github.rocketwire.spark.store.Snapshot;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Finds messages by ids: at the physical offset in an offset message id, or those from the index. The parts of the log
 * that the index does not cover are walked.
 */
final class IdPlan {
  private IdPlan() {}

  static List<LogSpan> plan(Snapshot store, Request request, long least) throws IOException {
    if (request.narrowed.offsetMessageIds != null) {
      TreeSet<Long> places = places(request.narrowed.offsetMessageIds);
      checkTail(store, request, places);
      return at(store, places);
    }
    TreeSet<Long> places = places(request.narrowed.messageIds);
    List<long[]> covered = List.of();
    Set<String> topics = store.topics();
    if (store.isWhole() && topics != null) {
      IndexFiles.Found found = IndexFiles.lookUp(
          store.directory.index,
          topics.stream().filter(request::takesTopic).toList(),
          request.narrowed.messageIds);
      places.addAll(found.places());
      covered = found.covered();
    }
    checkTail(store, request, places);
    List<long[]> gaps = gaps(store, covered);
    List<LogSpan> spans = new ArrayList<>();
    places.removeIf(place -> gaps.stream().anyMatch(gap -> gap[0] <= place && place < gap[1]));
    spans.addAll(at(store, places));
    if (!gaps.isEmpty()) {
      spans.addAll(WalkPlan.plan(store, request, least, gaps));
    }
    return spans;
  }

  private static TreeSet<Long> places(Set<String> ids) {
    TreeSet<Long> found = new TreeSet<>();
    for (String id : ids) {
      if (id.length() == 32 || id.length() == 56) {
        try {
          for (int at = 0; at < id.length(); at += 16) {
            Long.parseUnsignedLong(id.substring(at, Math.min(id.length(), at + 16)), 16);
          }
          found.add(Long.parseUnsignedLong(id.substring(id.length() - 16), 16));
        } catch (NumberFormatException error) {
          continue; // a unique key of an application
        }
      }
    }
    return found;
  }

  private static void checkTail(Snapshot store, Request request, TreeSet<Long> places) throws IOException {
    Long behind = places.ceiling(store.end);
    LostTail lost = behind == null ? null : store.lostTail();
    if (lost != null && behind < lost.end()) {
      lost.report(store.broker, request);
    }
  }

  /** The parts of the log that are not covered; an index begins behind its first message. */
  private static List<long[]> gaps(Snapshot store, List<long[]> covered) {
    List<long[]> gaps = new ArrayList<>();
    List<long[]> sorted = new ArrayList<>(covered);
    sorted.sort((one, other) -> Long.compare(one[0], other[0]));
    long at = store.start;
    for (long[] part : sorted) {
      if (part[0] > at) {
        gaps.add(new long[] {at, Math.min(part[0], store.end)});
      }
      at = Math.max(at, part[1]);
      if (at >= store.end) {
        return gaps;
      }
    }
    gaps.add(new long[] {at, store.end});
    return gaps;
  }

  private static List<LogSpan> at(Snapshot store, TreeSet<Long> places) {
    long[] here = places.stream()
        .mapToLong(Long::longValue)
        .filter(place -> store.start <= place && place < store.end)
        .toArray();
    if (here.length == 0) {
      return List.of();
    }
    List<RowFile> files = new ArrayList<>();
    for (RowFile file : store.directory.commitLog) {
      if (java.util.Arrays.stream(here).anyMatch(place -> file.start() <= place && place < file.end())) {
        files.add(file);
      }
    }
    return List.of(new LogSpan(
        store.broker, here[0], here[here.length - 1] + 1, List.copyOf(files), null, here, false));
  }
}
