package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.cache.Manifest;
import io.github.rocketwire.spark.cache.Segment;
import io.github.rocketwire.spark.request.Request;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** Selects the requested rows of columns beside a store; columns without a condition are not read. */
final class CachedSelection {
  private final Request request;
  private final Selection selection;
  private List<String> topics;
  private boolean[] takenTopics;
  private boolean allTopics;
  private boolean[] takenTags; // null for all

  CachedSelection(Request request, String broker) {
    this.request = request;
    selection = new Selection(request, broker);
  }

  /** Takes the texts that codes stand for. */
  void open(Manifest manifest) {
    topics = manifest.topics();
    takenTopics = new boolean[topics.size()];
    allTopics = true;
    for (int code = 0; code < takenTopics.length; code++) {
      takenTopics[code] = request.takesTopic(topics.get(code));
      allTopics &= takenTopics[code];
    }
    if (request.narrowed.tags != null) {
      takenTags = new boolean[manifest.tags().size()];
      for (int code = 0; code < takenTags.length; code++) {
        takenTags[code] = request.narrowed.tags.contains(manifest.tags().get(code));
      }
    }
  }

  /** The selected ones of some rows of a block. */
  int[] rows(Segment segment, int block, int first, int end) throws IOException {
    boolean byQueue = selection.isByQueue();
    int[] codes = allTopics && !byQueue ? null : segment.ints("topic", block);
    int[] tags = takenTags == null ? null : segment.ints("tag", block);
    long[] times = request.hasTimes() ? segment.longs("store_timestamp", block) : null;
    int[] queueIds = byQueue ? segment.ints("queue_id", block) : null;
    long[] offsets = byQueue ? segment.longs("queue_offset", block) : null;
    int[] found = new int[end - first];
    int count = 0;
    for (int row = first; row < end; row++) {
      boolean taken = (codes == null || takenTopics[codes[row]])
          && (tags == null || takenTags[tags[row]])
          && (times == null || selection.isInTime(times[row]))
          && (!byQueue || selection.takesOffset(topics.get(codes[row]), queueIds[row], offsets[row]));
      if (taken) {
        found[count++] = row;
      }
    }
    return Arrays.copyOf(found, count);
  }
}
