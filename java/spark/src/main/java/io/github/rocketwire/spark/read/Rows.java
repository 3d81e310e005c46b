package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Columns;
import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;
import io.github.rocketwire.spark.columns.Inflating;
import io.github.rocketwire.spark.columns.RecordColumns;
import io.github.rocketwire.spark.columns.Values;
import io.github.rocketwire.spark.request.Options;
import io.github.rocketwire.spark.request.Ranges;
import io.github.rocketwire.spark.request.Request;
import io.github.rocketwire.spark.store.Record;
import io.github.rocketwire.spark.store.Walk;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** Makes the batches of one task: of records in a buffer, and of damaged places by the mode. */
public final class Rows {
  /** Inflated bodies of one batch are no larger than this together, but for a single one. */
  private static final int MOST_INFLATED = 32 << 20;

  private final Request request;
  private final UTF8String broker;
  private final boolean checked;
  private final boolean inflating;
  private List<Damaged> damaged = new ArrayList<>();
  private long skipped;
  private byte[] data;
  private Walk walk;
  private int done;
  private String file;
  private UTF8String fileText;

  Rows(Request request, String broker) {
    this.request = request;
    this.broker = UTF8String.fromString(broker);
    boolean bodies = request.has("body");
    checked = bodies && request.options.verifyChecksums;
    inflating = bodies && request.options.decompress;
  }

  /** Takes whole records of a file (null: of an endpoint), selected ones; {@link #next} makes batches of them. */
  public void of(byte[] buffer, Walk records, String path) {
    data = buffer;
    walk = records;
    done = 0;
    if (!Objects.equals(path, file)) {
      file = path;
      fileText = text(path);
    }
    if (checked) {
      checkBodies();
    }
  }

  /** The next batch of what was taken; null when all of it is done. */
  ColumnarBatch next() {
    while (walk != null && done < walk.count) {
      ColumnarBatch found = ofRecords();
      if (found != null) {
        return found;
      }
    }
    return damaged.isEmpty() ? null : ofDamaged();
  }

  /** Takes a damaged place, by the mode. */
  public void damaged(Damaged place) {
    if (request.options.mode == Options.Mode.FAILFAST) {
      throw new SourceException(
          SourceException.RECORD_MALFORMED,
          textOf(place),
          "Set mode to PERMISSIVE or DROPMALFORMED to read on past damage");
    }
    if (request.options.mode == Options.Mode.PERMISSIVE) {
      damaged.add(place);
    } else if (skipped++ == 0) {
      Ranges.warn("passed over: " + textOf(place));
    }
  }

  /** Ends the task. */
  void close() {
    if (skipped > 1) {
      Ranges.warn(skipped + " damaged places of " + broker + " were passed over");
    }
  }

  private String textOf(Damaged place) {
    String at = place.physicalOffset() == null ? "" : " at physical offset " + place.physicalOffset();
    return (place.file() == null ? broker : place.file()) + at + ": " + place.reason();
  }

  private void checkBodies() {
    int kept = 0;
    for (int i = 0; i < walk.count; i++) {
      if (Record.isBodyGood(data, walk.position[i], walk.body[i])) {
        walk.move(i, kept++);
      } else {
        note(i, "its body has another CRC than its record says");
      }
    }
    walk.count = kept;
  }

  /** Takes a record of which only the body is damaged. */
  private void note(int number, String reason) {
    int at = walk.position[number];
    String topic = new String(data, walk.topic[number], walk.topicLength[number], StandardCharsets.UTF_8);
    damaged(new Damaged(
        file,
        Record.int64(data, at + Facts.RECORD_PHYSICAL_OFFSET_AT),
        reason,
        topic,
        Record.int32(data, at + Facts.RECORD_QUEUE_ID_AT),
        Record.int64(data, at + Facts.RECORD_QUEUE_OFFSET_AT),
        Record.int32(data, at)));
  }

  /** A batch from where the last one ended; null when all of its records turned out to be damaged. */
  private ColumnarBatch ofRecords() {
    int first = done;
    int kept = first;
    byte[][] inflated = null;
    long room = MOST_INFLATED;
    done = inflating ? first : walk.count;
    for (; inflating && done < walk.count; done++) {
      int sysFlag = Record.int32(data, walk.position[done] + Facts.RECORD_SYS_FLAG_AT);
      byte[] body = null;
      if (Inflating.isCompressed(sysFlag)) {
        int at = walk.body[done];
        body = Inflating.inflated(data, at, Record.int32(data, at - 4), sysFlag);
        if (body == null) {
          note(done, "its body cannot be inflated");
          continue;
        }
        if (body.length > room && kept > first) {
          break; // it is inflated again for the next batch
        }
        room -= body.length;
        inflated = inflated == null ? new byte[walk.count - first][] : inflated;
        inflated[kept - first] = body;
      }
      walk.move(done, kept++);
    }
    int count = inflating ? kept - first : done - first;
    if (count == 0) {
      return null;
    }
    RecordColumns columns = first == 0
        ? new RecordColumns(data, count, walk.position, walk.body, walk.topic, walk.topicLength, walk.properties, inflated)
        : new RecordColumns(
            data, count, part(walk.position, first, count), part(walk.body, first, count),
            part(walk.topic, first, count), part(walk.topicLength, first, count),
            part(walk.properties, first, count), inflated);
    ColumnVector[] vectors = new ColumnVector[request.columns.size()];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = columns.of(request.columns.get(i), broker, fileText);
    }
    return new ColumnarBatch(vectors, count);
  }

  private static int[] part(int[] array, int first, int count) {
    return Arrays.copyOfRange(array, first, first + count);
  }

  private ColumnarBatch ofDamaged() {
    List<Damaged> places = damaged;
    damaged = new ArrayList<>();
    StructField[] fields = Columns.schema(request.columns).fields();
    ColumnVector[] vectors = new ColumnVector[fields.length];
    for (int i = 0; i < fields.length; i++) {
      String name = fields[i].name();
      vectors[i] = new Values(fields[i].dataType(), places.stream().map(place -> value(place, name)).toArray());
    }
    return new ColumnarBatch(vectors, places.size());
  }

  private Object value(Damaged place, String column) {
    return switch (column) {
      case "broker" -> broker;
      case "file" -> text(place.file());
      case "topic" -> text(place.topic());
      case "queue_id" -> place.queueId();
      case "queue_offset" -> place.queueOffset();
      case "physical_offset" -> place.physicalOffset();
      case "store_size" -> place.storeSize();
      case Columns.CORRUPT_RECORD -> text(place.reason());
      default -> null;
    };
  }

  private static UTF8String text(String value) {
    return value == null ? null : UTF8String.fromString(value);
  }
}
