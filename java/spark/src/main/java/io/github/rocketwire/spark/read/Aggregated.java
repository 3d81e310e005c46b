package io.github.rocketwire.spark.read;

import io.github.rocketwire.spark.Columns;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Counts, least and largest values of columns that consume queues have, by topic, queue or broker. Each task aggregates
 * its part, and Spark the parts.
 *
 * @param keys the columns to group by
 * @param functions what is aggregated
 */
public record Aggregated(List<String> keys, List<Function> functions) implements Serializable {
  /** What a function makes of values. */
  public enum Kind {
    COUNT,
    MIN,
    MAX
  }

  /**
   * An aggregate function.
   *
   * @param column of its values; null for count(*)
   */
  public record Function(Kind kind, String column) implements Serializable {}

  private static final Set<String> KEYS = Set.of("topic", "queue_id", "broker");
  private static final Set<String> NUMBERS = Set.of("queue_id", "queue_offset", "physical_offset", "store_size");

  /** What Spark wants aggregated; null if queues do not answer it. */
  public static Aggregated of(Aggregation aggregation) {
    List<String> keys = new ArrayList<>();
    for (Expression expression : aggregation.groupByExpressions()) {
      String column = column(expression);
      if (column == null || !KEYS.contains(column)) {
        return null;
      }
      keys.add(column);
    }
    List<Function> functions = new ArrayList<>();
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      Function found = of(function);
      if (found == null) {
        return null;
      }
      functions.add(found);
    }
    return new Aggregated(keys, functions);
  }

  private static Function of(AggregateFunc function) {
    if (function instanceof CountStar) {
      return new Function(Kind.COUNT, null);
    }
    if (function instanceof Count count && !count.isDistinct()) {
      // None of these columns is null in a row that queues give.
      String column = column(count.column());
      return column != null && Columns.OF_QUEUES.contains(column) ? new Function(Kind.COUNT, null) : null;
    }
    if (function instanceof Min min) {
      String column = column(min.column());
      return column != null && NUMBERS.contains(column) ? new Function(Kind.MIN, column) : null;
    }
    if (function instanceof Max max) {
      String column = column(max.column());
      return column != null && NUMBERS.contains(column) ? new Function(Kind.MAX, column) : null;
    }
    return null;
  }

  private static String column(Expression expression) {
    return expression instanceof NamedReference name && name.fieldNames().length == 1 ? name.fieldNames()[0] : null;
  }

  /** The columns that are read. */
  public List<String> columns() {
    Set<String> found = new LinkedHashSet<>(keys);
    functions.stream().map(Function::column).filter(column -> column != null).forEach(found::add);
    return new ArrayList<>(found);
  }

  /** The columns of the result: the keys, and then the functions. */
  public StructType schema() {
    List<StructField> fields = new ArrayList<>(List.of(Columns.schema(keys).fields()));
    for (int i = 0; i < functions.size(); i++) {
      Function function = functions.get(i);
      var type = function.kind() == Kind.COUNT
          ? DataTypes.LongType
          : Columns.schema(List.of(function.column())).fields()[0].dataType();
      fields.add(new StructField(function.kind().name().toLowerCase(java.util.Locale.ROOT) + i, type, true,
          Metadata.empty()));
    }
    return new StructType(fields.toArray(StructField[]::new));
  }
}
