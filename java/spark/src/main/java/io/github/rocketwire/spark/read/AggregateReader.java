package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.columns.Values;
import io.github.rocketwire.spark.plan.LogSpan;
import io.github.rocketwire.spark.plan.QueueRange;
import io.github.rocketwire.spark.request.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** Aggregates the entries of one task: a row per group, or one. */
final class AggregateReader extends OneBatchReader {
  private final Aggregated aggregated;

  AggregateReader(LogSpan span, Request request, Aggregated aggregated) {
    super(span, request);
    this.aggregated = aggregated;
  }

  @Override
  protected ColumnarBatch made(Found found) {
    return made(groups(found));
  }

  private Map<List<Object>, long[]> groups(Found found) {
    int count = aggregated.functions().size();
    Map<List<Object>, long[]> groups = new LinkedHashMap<>();
    long[][] ofQueue = new long[span.queues().size()][];
    for (int i = 0; i < ofQueue.length; i++) {
      ofQueue[i] = groups.computeIfAbsent(key(span.queues().get(i)), key -> none(count));
    }
    Aggregated.Function[] functions = aggregated.functions().toArray(Aggregated.Function[]::new);
    for (int row = 0; row < found.count; row++) {
      long[] values = ofQueue[found.queue[row]];
      values[count]++;
      for (int i = 0; i < count; i++) {
        switch (functions[i].kind()) {
          case COUNT -> values[i]++;
          case MIN -> values[i] = Math.min(values[i], value(found, row, functions[i].column()));
          case MAX -> values[i] = Math.max(values[i], value(found, row, functions[i].column()));
        }
      }
    }
    if (aggregated.keys().isEmpty()) {
      groups.computeIfAbsent(List.of(), key -> none(count));
    } else {
      groups.values().removeIf(values -> values[count] == 0);
    }
    return groups;
  }

  /** The values of a group without rows; the last is the number of its rows. */
  private long[] none(int count) {
    long[] values = new long[count + 1];
    for (int i = 0; i < count; i++) {
      values[i] = switch (aggregated.functions().get(i).kind()) {
        case COUNT -> 0;
        case MIN -> Long.MAX_VALUE;
        case MAX -> Long.MIN_VALUE;
      };
    }
    return values;
  }

  private List<Object> key(QueueRange queue) {
    Object[] key = new Object[aggregated.keys().size()];
    for (int i = 0; i < key.length; i++) {
      key[i] = switch (aggregated.keys().get(i)) {
        case "topic" -> UTF8String.fromString(queue.topic());
        case "queue_id" -> queue.queueId();
        default -> UTF8String.fromString(span.broker());
      };
    }
    return Arrays.asList(key);
  }

  private long value(Found found, int row, String column) {
    return switch (column) {
      case "queue_id" -> span.queues().get(found.queue[row]).queueId();
      case "queue_offset" -> found.queueOffset[row];
      case "physical_offset" -> found.place[row];
      default -> found.size[row];
    };
  }

  private ColumnarBatch made(Map<List<Object>, long[]> groups) {
    StructField[] fields = aggregated.schema().fields();
    int keys = aggregated.keys().size();
    int count = aggregated.functions().size();
    List<ColumnVector> vectors = new ArrayList<>();
    for (int i = 0; i < fields.length; i++) {
      List<Object> values = new ArrayList<>();
      for (Map.Entry<List<Object>, long[]> group : groups.entrySet()) {
        values.add(i < keys ? group.getKey().get(i) : value(group.getValue(), i - keys, count, fields[i]));
      }
      vectors.add(new Values(fields[i].dataType(), values));
    }
    return new ColumnarBatch(vectors.toArray(ColumnVector[]::new), groups.size());
  }

  private Object value(long[] values, int number, int count, StructField field) {
    boolean counted = aggregated.functions().get(number).kind() == Aggregated.Kind.COUNT;
    if (!counted && values[count] == 0) {
      return null;
    }
    return field.dataType().equals(DataTypes.IntegerType) ? (Object) (int) values[number] : (Object) values[number];
  }
}
