package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.columns.Vector;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Directory;
import java.io.IOException;
import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;
import java.util.function.IntUnaryOperator;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads rows from consume queues alone, without reading the log: one batch. */
final class EntriesReader implements PartitionReader<ColumnarBatch> {
  private final LogSpan span;
  private final Request request;
  private boolean done;
  private ColumnarBatch batch;

  EntriesReader(LogSpan span, Request request) {
    this.span = span;
    this.request = request;
  }

  @Override
  public boolean next() {
    if (done) {
      return false;
    }
    done = true;
    try {
      Found found = new Found(span, request);
      ColumnVector[] vectors = request.columns.stream().map(name -> column(found, name)).toArray(ColumnVector[]::new);
      batch = new ColumnarBatch(vectors, found.count);
      return found.count > 0;
    } catch (IOException error) {
      throw Directory.unreadable(error);
    }
  }

  private ColumnVector column(Found found, String name) {
    UTF8String[] topics = texts(span.queues().size(), i -> span.queues().get(i).topic());
    UTF8String[] files = texts(span.files().size(), i -> span.files().get(i).path());
    int[] numbers = span.queues().stream().mapToInt(queue -> queue.queueId()).toArray();
    UTF8String broker = UTF8String.fromString(span.broker());
    return switch (name) {
      case "topic" -> new Texts(row -> topics[found.queue[row]]);
      case "file" -> new Texts(row -> files[found.file[row]]);
      case "broker" -> new Texts(row -> broker);
      case "queue_id" -> new Ints(row -> numbers[found.queue[row]]);
      case "store_size" -> new Ints(row -> found.size[row]);
      case "queue_offset" -> new Longs(row -> found.queueOffset[row]);
      case "physical_offset" -> new Longs(row -> found.place[row]);
      default -> throw new IllegalArgumentException(name + " is none of " + Columns.OF_QUEUES);
    };
  }

  private static UTF8String[] texts(int count, IntFunction<String> text) {
    UTF8String[] found = new UTF8String[count];
    for (int i = 0; i < count; i++) {
      found[i] = UTF8String.fromString(text.apply(i));
    }
    return found;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public void close() {}

  private static final class Texts extends Vector {
    private final IntFunction<UTF8String> value;

    Texts(IntFunction<UTF8String> value) {
      super(DataTypes.StringType);
      this.value = value;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return value.apply(row);
    }
  }

  private static final class Ints extends Vector {
    private final IntUnaryOperator value;

    Ints(IntUnaryOperator value) {
      super(DataTypes.IntegerType);
      this.value = value;
    }

    @Override
    public int getInt(int row) {
      return value.applyAsInt(row);
    }
  }

  private static final class Longs extends Vector {
    private final IntToLongFunction value;

    Longs(IntToLongFunction value) {
      super(DataTypes.LongType);
      this.value = value;
    }

    @Override
    public long getLong(int row) {
      return value.applyAsLong(row);
    }
  }
}
