package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.plan.QueueRange;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Entries;
import io.github.rocketwire.spark.store.RowFile;
import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** The entries of a span that lead into its files, as arrays. */
final class Found {
  private static final String ENTRIES_GONE =
      "Set failOnDataLoss to false to read what is left; if the log has the messages still, rocketwire store repair makes"
          + " its queues again";
  private static final int INDEX_BITS = 24;

  long[] place = new long[4096];
  int[] size = new int[4096];
  long[] queueOffset = new long[4096];
  int[] queue = new int[4096];
  int[] file = new int[4096];
  int count;
  private long outside;
  private String firstOutside;

  Found(LogSpan span, Request request) throws IOException {
    List<RowFile> files = span.files();
    for (int number = 0; number < span.queues().size(); number++) {
      QueueRange range = span.queues().get(number);
      Set<Long> codes = tagsCodes(request, range.topic());
      int own = number;
      int[] last = {0};
      try (Entries entries = new Entries(range.files())) {
        long gone = entries.written(range.first(), range.end(), (offset, at, bytes, code) -> {
          if (codes == null || codes.contains(code) || code <= Facts.HIGHEST_EXT_ADDRESS) {
            last[0] = fileOf(files, at, last[0]);
            if (last[0] < 0) {
              last[0] = 0;
              if (outside++ == 0) {
                firstOutside = range.topic() + ", queue " + range.queueId() + ", offset " + offset;
              }
            } else {
              add(at, bytes, offset, own, last[0]);
            }
          }
        });
        if (gone > 0) {
          Ranges.lost(
              gone + " entries of " + range.topic() + ", queue " + range.queueId() + ", are gone from " + range.path(),
              request.options.failOnDataLoss,
              ENTRIES_GONE);
        }
      }
    }
    if (outside > 0) {
      Ranges.lost(
          outside + " messages are not in the log of " + span.broker() + ", to which their queues lead (first: "
              + firstOutside + ")",
          request.options.failOnDataLoss,
          Ranges.REMEDY);
    }
  }

  /** Hashes of the requested tags; null if hashes do not suffice. */
  private static Set<Long> tagsCodes(Request request, String topic) {
    Set<String> tags = request.narrowed.tags;
    // Tags that are not UTF-8 are shown with replacement characters, but hashed as Java does.
    if (tags == null || Options.isHidden(topic) || tags.stream().anyMatch(tag -> tag.indexOf('\uFFFD') >= 0)) {
      return null;
    }
    Set<Long> codes = new HashSet<>();
    tags.forEach(tag -> codes.add((long) tag.hashCode()));
    return codes;
  }

  /** The number of the file that holds a place, mostly the same as before; -1 when none does. */
  private static int fileOf(List<RowFile> files, long at, int last) {
    if (last < files.size() && files.get(last).start() <= at && at < files.get(last).end()) {
      return last;
    }
    for (int i = 0; i < files.size(); i++) {
      if (files.get(i).start() <= at && at < files.get(i).end()) {
        return i;
      }
    }
    return -1;
  }

  private void add(long at, int bytes, long offset, int ofQueue, int ofFile) {
    if (count == place.length) {
      int room = 2 * count;
      place = Arrays.copyOf(place, room);
      size = Arrays.copyOf(size, room);
      queueOffset = Arrays.copyOf(queueOffset, room);
      queue = Arrays.copyOf(queue, room);
      file = Arrays.copyOf(file, room);
    }
    place[count] = at;
    size[count] = bytes;
    queueOffset[count] = offset;
    queue[count] = ofQueue;
    file[count++] = ofFile;
  }

  /** The numbers of the entries in the order of the log. */
  int[] inOrder() {
    long least = IntStream.range(0, count).mapToLong(i -> place[i]).min().orElse(0);
    long most = IntStream.range(0, count).mapToLong(i -> place[i]).max().orElse(0);
    if (count < 1 << INDEX_BITS && most - least < 1L << 62 - INDEX_BITS) {
      long[] keys = new long[count];
      for (int i = 0; i < count; i++) {
        keys[i] = place[i] - least << INDEX_BITS | i;
      }
      Arrays.sort(keys);
      int[] order = new int[count];
      for (int i = 0; i < count; i++) {
        order[i] = (int) keys[i] & (1 << INDEX_BITS) - 1;
      }
      return order;
    }
    return IntStream.range(0, count).boxed().sorted(Comparator.comparingLong(i -> place[i])).mapToInt(i -> i).toArray();
  }
}
