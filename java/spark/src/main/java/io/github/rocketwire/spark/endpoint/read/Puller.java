package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.endpoint.Cluster;
import io.github.rocketwire.spark.endpoint.Connection;
import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.endpoint.RemotingException;
import io.github.rocketwire.spark.endpoint.RetryPauses;
import io.github.rocketwire.spark.endpoint.read.BrokerPart.Span;
import io.github.rocketwire.spark.stream.MessageQueue;
import java.io.Closeable;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

/**
 * Pulls ranges of queues of one broker: with many pulls in flight, and with retries for a while.
 *
 * <p>Theory: the broker decides how many messages it returns to one pull. So a range is pulled in pieces of the size that
 * it returned last; the rest of a piece that an answer lacks is pulled at once. Messages come in the order of the ranges.
 */
final class Puller implements Closeable {
  private static final int WINDOW = 16; // pulls in flight, at most
  private static final int FIRST_PIECE = 32; // the default of brokers
  private static final int LARGEST_PIECE = 1024;
  private static final int FULL_ANSWERS = 16; // after so many the pieces grow

  /**
   * Messages of a queue with offsets from {@code first} up to, not including, {@code end}.
   *
   * @param records one after the other, as the commit log has them; null: they were removed
   */
  record Pulled(MessageQueue queue, long first, long end, byte[] records) {}

  /** The messages that one pull requests; it is in flight or answered. */
  private static final class Piece {
    final Span span;
    int opaque;
    Connection.Answer answer;

    Piece(MessageQueue queue, long first, long end) {
      span = new Span(queue, first, end);
    }

    boolean isUnanswered() {
      return answer == null || isBusy(answer);
    }
  }

  private final EndpointOptions endpoint;
  private final String broker;
  private final RetryPauses pauses = new RetryPauses();
  private final Iterator<Span> spans;
  private final Deque<Piece> waiting = new ArrayDeque<>();
  private Span left;
  private Cluster cluster;
  private Connection connection;
  private int window = WINDOW;
  private long most = FIRST_PIECE;
  private int full;

  Puller(EndpointOptions endpoint, BrokerPart part) {
    this.endpoint = endpoint;
    broker = part.broker();
    spans = part.spans().iterator();
  }

  /** The next messages of the ranges; null at the end. */
  Pulled next() throws RemotingException, InterruptedIOException {
    while (true) {
      while (waiting.size() < window && hasMore()) {
        Piece piece = new Piece(left.queue(), left.first(), Math.min(left.end(), left.first() + most));
        left = new Span(left.queue(), piece.span.end(), left.end());
        waiting.add(piece);
        send(List.of(piece));
      }
      if (waiting.isEmpty()) {
        return null;
      }
      Pulled found = taken();
      if (found != null) {
        return found;
      }
    }
  }

  private boolean hasMore() {
    while ((left == null || left.first() == left.end()) && spans.hasNext()) {
      left = spans.next();
    }
    return left != null && left.first() < left.end();
  }

  /** The messages of the oldest pull; null if it is sent again. */
  private Pulled taken() throws RemotingException, InterruptedIOException {
    Piece piece = waiting.peek();
    Connection.Answer answer;
    try {
      answer = answer(piece);
    } catch (RemotingException error) {
      again(error);
      return null;
    }
    if (isBusy(answer)) {
      rest(answer);
      return null;
    }
    connection.checked(answer, Pulls.PULLED);
    waiting.remove();
    pauses.reset();
    window = Math.min(WINDOW, window + 1);
    long first = piece.span.first();
    long end = piece.span.end();
    long reached = answer.number(Facts.FIELD_NEXT_BEGIN_OFFSET);
    boolean there = answer.code() == Facts.RESPONSE_SUCCESS;
    long until = there ? Math.min(Math.max(reached, first + 1), end) : reached > first ? Math.min(reached, end) : end;
    if (there) {
      learn(end - first, until - first);
    }
    if (until < end) {
      List<Piece> rest = cut(piece.span.queue(), until, end);
      for (int i = rest.size() - 1; i >= 0; i--) {
        waiting.addFirst(rest.get(i));
      }
      send(rest);
    }
    return new Pulled(piece.span.queue(), first, until, there ? answer.body() : null);
  }

  /** The missing rest of an answer, as pieces of the size that the broker returns; the last one may be longer. */
  private List<Piece> cut(MessageQueue queue, long start, long end) {
    List<Piece> found = new ArrayList<>();
    long first = start;
    while (found.size() < window - 1 && first + most < end) {
      found.add(new Piece(queue, first, first + most));
      first += most;
    }
    found.add(new Piece(queue, first, end));
    return found;
  }

  private void learn(long requested, long given) {
    if (given < requested) {
      most = given;
      full = 0;
    } else if (requested == most && ++full == FULL_ANSWERS) {
      most = Math.min(LARGEST_PIECE, most * 2);
      full = 0;
    }
  }

  private static boolean isBusy(Connection.Answer answer) {
    return answer.code() == Facts.RESPONSE_SYSTEM_BUSY || answer.code() == Facts.RESPONSE_FLOW_CONTROL;
  }

  private Connection.Answer answer(Piece piece) throws RemotingException {
    if (piece.answer == null) {
      if (connection == null) {
        throw RemotingException.notReached("broker " + broker, "the connection failed", null);
      }
      piece.answer = connection.answer(piece.opaque);
    }
    return piece.answer;
  }

  private List<Piece> unanswered() {
    return waiting.stream().filter(Piece::isUnanswered).toList();
  }

  /** The broker is busy: waits, with no pull in flight, then sends fewer pulls at once. */
  private void rest(Connection.Answer busy) throws RemotingException, InterruptedIOException {
    List<Piece> requested = unanswered();
    List<Piece> refused = new ArrayList<>();
    try {
      for (Piece piece : requested) {
        if (isBusy(answer(piece))) {
          refused.add(piece);
        }
      }
    } catch (RemotingException error) {
      again(error);
      return;
    }
    if (refused.size() < requested.size()) {
      pauses.reset();
    }
    pauses.waitAfter(RemotingException.refused(connection.what, busy.code(), busy.remark()));
    window = Math.max(1, window / 2);
    send(refused);
  }

  /** The connection failed: sends all unanswered pulls again on a new one. */
  private void again(RemotingException error) throws RemotingException, InterruptedIOException {
    if (!RetryPauses.mayPass(error)) {
      throw error;
    }
    close();
    pauses.waitAfter(error);
    send(unanswered());
  }

  private void send(List<Piece> pieces) throws RemotingException, InterruptedIOException {
    try {
      if (connection == null) {
        cluster = new Cluster(endpoint);
        connection = cluster.broker(broker);
      }
      for (Piece piece : pieces) {
        Span span = piece.span;
        piece.answer = null;
        piece.opaque = connection.send(
            Facts.CODE_PULL_MESSAGE,
            Pulls.fields(span.queue(), span.first(), span.end() - span.first(), endpoint.group),
            Connection.NO_BODY);
      }
    } catch (RemotingException error) {
      again(error);
    }
  }

  /** Closes the connections. */
  @Override
  public void close() {
    if (cluster != null) {
      cluster.close();
    }
    cluster = null;
    connection = null;
  }
}
