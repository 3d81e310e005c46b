package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Request;

/** Reads a part of one store's log. */
abstract class SpanReader extends BlockReader {
  protected final LogSpan span;

  SpanReader(LogSpan span, Request request) {
    super(request, span.broker());
    this.span = span;
  }
}
