package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.endpoint.EndpointErrors;
import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.endpoint.RemotingException;
import io.github.rocketwire.spark.endpoint.read.Puller.Pulled;
import io.github.rocketwire.spark.read.BlockReader;
import io.github.rocketwire.spark.read.Damaged;
import io.github.rocketwire.spark.read.Selection;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.Walk;
import io.github.rocketwire.spark.stream.MessageQueue;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;

/** Makes rows of pulled messages, of several answers together, since answers are small. */
final class PulledReader extends BlockReader {
  /** An answer's messages in the block. */
  private record Part(Pulled pulled, int start, int end) {}

  private final EndpointOptions endpoint;
  private final Puller puller;
  private final Selection selection;
  private final Walk walk = new Walk();
  private final Deque<Part> parts = new ArrayDeque<>();
  private byte[] data = new byte[BLOCK];
  private int used;
  private Pulled ahead; // does not fit into the block
  private Pulled missing; // missing messages, those of consecutive answers together
  /** Whether the parts are taken singly, and how far the first of them is: some records are damaged. */
  private boolean oneByOne;

  private int position;
  private long passed; // messages of the first part

  PulledReader(BrokerPart part, Request request, EndpointOptions endpoint) {
    super(request, part.broker());
    this.endpoint = endpoint;
    puller = new Puller(endpoint, part);
    selection = new Selection(request, part.broker());
  }

  @Override
  protected boolean more() throws IOException {
    if (oneByOne) {
      takePart();
      return true;
    }
    boolean last = !fill();
    long count = parts.stream().mapToLong(part -> part.pulled.end() - part.pulled.first()).sum();
    walk.run(data, Walk.ANYWHERE, 0, used, true, (int) Math.max(1, Math.min(count, Integer.MAX_VALUE)));
    if (walk.next < used || walk.count < count) {
      oneByOne = true;
      position = 0;
      passed = 0;
      return true;
    }
    parts.clear();
    give();
    return !last;
  }

  private void give() {
    selection.ofEntries(data, walk);
    rows.of(data, walk, null);
  }

  /** Fills the block with answers; false at the end of the task. */
  private boolean fill() throws IOException {
    used = 0;
    while (true) {
      Pulled pulled = ahead == null ? puller.next() : ahead;
      ahead = null;
      if (pulled == null) {
        reportMissing();
        return false;
      }
      if (pulled.records() == null) {
        noteMissing(pulled);
        continue;
      }
      int length = pulled.records().length;
      if (used > 0 && used + length > data.length) {
        ahead = pulled;
        return true;
      }
      if (length > data.length) {
        data = new byte[length];
      }
      System.arraycopy(pulled.records(), 0, data, used, length);
      parts.add(new Part(pulled, used, used + length));
      used += length;
    }
  }

  /** Takes the whole records of the first part from the position on, and notes what ends them. */
  private void takePart() {
    Part part = parts.peek();
    if (part == null) {
      oneByOne = false;
      return;
    }
    Pulled pulled = part.pulled;
    int start = Math.max(position, part.start);
    walk.run(data, Walk.ANYWHERE, start, part.end, true, (int) (pulled.end() - pulled.first()));
    passed += walk.count;
    int next = walk.next;
    if (next < part.end && walk.stop != Walk.Stop.FULL) {
      next = pastDamage(pulled, next, part.end);
    }
    if (next >= part.end) {
      parts.remove();
      passed = 0;
    }
    position = next;
    keepRequested(pulled);
    give();
  }

  /** Notes a record that is none; where the next one begins. */
  private int pastDamage(Pulled pulled, int at, int end) {
    String reason = walk.stop == Walk.Stop.DAMAGED ? walk.reason : "it is cut short";
    MessageQueue queue = pulled.queue();
    String what = queue + ", near offset " + (pulled.first() + passed) + ": " + reason;
    rows.damaged(new Damaged(null, null, what, queue.topic(), queue.queueId(), null, null));
    int size = end - at < Integer.BYTES ? 0 : Record.int32(data, at);
    return size <= 0 || size > end - at ? end : at + size;
  }

  private void keepRequested(Pulled pulled) {
    int kept = 0;
    for (int i = 0; i < walk.count; i++) {
      long offset = Record.int64(data, walk.position[i] + Facts.RECORD_QUEUE_OFFSET_AT);
      if (offset >= pulled.first() && offset < pulled.end()) {
        walk.move(i, kept++);
      }
    }
    walk.count = kept;
  }

  private void noteMissing(Pulled pulled) {
    if (missing != null && missing.queue().equals(pulled.queue()) && missing.end() == pulled.first()) {
      missing = new Pulled(missing.queue(), missing.first(), pulled.end(), null);
    } else {
      reportMissing();
      missing = pulled;
    }
    if (request.options.failOnDataLoss) {
      reportMissing();
    }
  }

  private void reportMissing() {
    if (missing != null) {
      String what =
          missing.queue() + ": the messages from offset " + missing.first() + " to " + (missing.end() - 1)
              + " are gone";
      missing = null;
      Ranges.lost(what, request.options.failOnDataLoss, Ranges.REMEDY);
    }
  }

  @Override
  protected RuntimeException failure(IOException error) {
    return error instanceof RemotingException own ? EndpointErrors.of(own, endpoint) : new UncheckedIOException(error);
  }

  @Override
  public void close() throws IOException {
    puller.close();
    super.close();
  }
}
