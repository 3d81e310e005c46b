package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.cache.Manifest;
import io.github.rocketwire.spark.cache.Segment;
import io.github.rocketwire.spark.columns.Computed;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.RowFile;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads rows from columns beside a store: of the log only holes between their messages are read.
 *
 * <p>Theory: the columns have every whole record that the log had when they were made. What lies between two of them, or
 * between one and the end of its file, is walked as the log is without columns: mostly it is the blank that ends a file,
 * and else it is damage, whose rows the walk makes. If the columns turn out to be damaged, or were made again since, the
 * rest of the task is walked.
 */
final class CachedReader implements PartitionReader<ColumnarBatch> {
  private final LogSpan span;
  private final Request request;
  private final CachedSelection selection;
  private final Deque<LogSpan> holes = new ArrayDeque<>();
  private final UTF8String[] files;
  private Deque<Manifest.Part> left; // segments; null before the first
  private UTF8String[] topics;
  private UTF8String[] tags;
  private Segment segment;
  private int number; // of the next block
  private long done; // everything before this physical offset has been read
  private PartitionReader<ColumnarBatch> walk;
  private ColumnarBatch ready;
  private ColumnarBatch batch;

  CachedReader(LogSpan span, Request request) {
    this.span = span;
    this.request = request;
    selection = new CachedSelection(request, span.broker());
    files = span.files().stream().map(file -> UTF8String.fromString(file.path())).toArray(UTF8String[]::new);
    done = span.start();
  }

  @Override
  public boolean next() throws IOException {
    while (true) {
      if (walk != null && walk.next()) {
        batch = walk.get();
        return true;
      }
      closeWalk();
      if (!holes.isEmpty()) {
        walk = new WalkReader(holes.remove(), request);
      } else if (ready != null) {
        batch = ready;
        ready = null;
        return true;
      } else if (!more()) {
        return false;
      }
    }
  }

  /** Takes a block of columns, or what is behind the last one; false at the end. */
  private boolean more() throws IOException {
    try {
      if (left == null) {
        open();
      }
      while (segment != null || !left.isEmpty()) {
        if (segment == null) {
          segment = new Segment(span.cache().folder(), left.remove());
          number = 0;
        }
        if (number < segment.blocks()) {
          take(number++);
          return true;
        }
        closeSegment();
      }
    } catch (IOException error) {
      Ranges.warn("the log is read in place of the columns in " + span.cache().folder() + ": " + error.getMessage());
      closeSegment();
      left = new ArrayDeque<>();
    }
    boolean isRest = done < span.end();
    hole(span.end());
    return isRest;
  }

  private void open() throws IOException {
    Manifest manifest = span.cache().manifest();
    topics = texts(manifest.topics());
    tags = texts(manifest.tags());
    selection.open(manifest);
    left = new ArrayDeque<>();
    for (Manifest.Part part : manifest.segments()) {
      if (part.end() > span.start() && part.first() < span.end()) {
        left.add(part);
      }
    }
  }

  private static UTF8String[] texts(List<String> texts) {
    return texts.stream().map(UTF8String::fromString).toArray(UTF8String[]::new); // null stays null
  }

  /** Makes a batch of the rows of a block that are of the span and selected, and notes holes before them. */
  private void take(int block) throws IOException {
    long[] places = segment.longs("physical_offset", block);
    int first = position(places, span.start());
    int end = position(places, span.end());
    if (first == end) {
      return;
    }
    int[] sizes = segment.ints("size", block);
    int[] rows = selection.rows(segment, block, first, end);
    ColumnVector[] vectors = new ColumnVector[request.columns.size()];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = column(request.columns.get(i), block, rows, places, sizes);
    }
    // Nothing is taken of a block that cannot be read: so far it may turn out to be damaged.
    for (int row = first; row < end; row++) {
      hole(places[row]);
      done = places[row] + sizes[row];
    }
    if (rows.length > 0) {
      ready = new ColumnarBatch(vectors, rows.length);
    }
  }

  private static int position(long[] places, long wanted) {
    int found = Arrays.binarySearch(places, wanted);
    return found < 0 ? -found - 1 : found;
  }

  /** Notes what of the log lies between what is done and an end. */
  private void hole(long end) {
    if (done < end) {
      long start = done;
      List<RowFile> between =
          span.files().stream().filter(file -> file.start() < end && file.end() > start).toList();
      holes.add(new LogSpan(span.broker(), start, end, List.copyOf(between), null, null, false));
      done = end;
    }
  }

  private ColumnVector column(String name, int block, int[] rows, long[] places, int[] sizes) throws IOException {
    switch (name) {
      case "topic": {
        int[] codes = segment.ints("topic", block);
        return Computed.texts(row -> topics[codes[rows[row]]]);
      }
      case "tags": {
        int[] codes = segment.ints("tag", block);
        return Computed.texts(row -> tags[codes[rows[row]]]);
      }
      case "queue_id": {
        int[] values = segment.ints(name, block);
        return Computed.ints(row -> values[rows[row]]);
      }
      case "queue_offset": {
        long[] values = segment.longs(name, block);
        return Computed.longs(row -> values[rows[row]]);
      }
      case "born_timestamp", "store_timestamp": {
        long[] values = segment.longs(name, block);
        return Computed.times(row -> values[rows[row]]);
      }
      case "physical_offset":
        return Computed.longs(row -> places[rows[row]]);
      case "store_size":
        return Computed.ints(row -> sizes[rows[row]]);
      case "broker": {
        UTF8String broker = UTF8String.fromString(span.broker());
        return Computed.texts(row -> broker);
      }
      case "file":
        return Computed.texts(row -> file(places[rows[row]]));
      case Columns.CORRUPT_RECORD:
        return Computed.texts(row -> null);
      default:
        throw new IllegalArgumentException(name + " is none of " + Columns.CACHED);
    }
  }

  private UTF8String file(long place) {
    int found = files.length - 1;
    while (found > 0 && span.files().get(found).start() > place) {
      found--;
    }
    return files[found];
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  private void closeWalk() throws IOException {
    if (walk != null) {
      walk.close();
      walk = null;
    }
  }

  private void closeSegment() throws IOException {
    if (segment != null) {
      segment.close();
      segment = null;
    }
  }

  @Override
  public void close() throws IOException {
    closeWalk();
    closeSegment();
  }
}
