package io.github.rocketwire.spark;

import io.github.rocketwire.spark.request.Options;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source {@code rocketmq}: it reads store directories and endpoints, and writes to endpoints. Reads of object
 * stores and the tables of queues and counts are done by the Python source of the same name, which Spark 4 finds.
 */
public final class RocketMQProvider implements TableProvider, DataSourceRegister {
  private static final Pattern URL = Pattern.compile("(?i)(^|[,\"\\[\\s])(?!file:)[a-z][a-z0-9+.-]*://");
  private static final Set<String> PYTHONS_TABLES = Set.of("queues", "counts");
  private TableProvider python;

  @Override
  public String shortName() {
    return "rocketmq";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    String reason = pythons(options);
    if (reason != null) {
      return python(reason).inferSchema(options);
    }
    return Columns.schema(Options.parse(options.asCaseSensitiveMap()).columns);
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(properties);
    String reason = pythons(options);
    if (reason != null) {
      return python(reason).getTable(schema, partitioning, properties);
    }
    if (isOfEndpoint(options)) {
      return new EndpointTable(schema, properties);
    }
    Columns.check(schema);
    return new StoreTable(schema, Options.parse(properties));
  }

  /** The user may name columns by a schema of theirs. */
  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  /** What of a read only the Python source can do; null for one that is done here. */
  private static String pythons(CaseInsensitiveStringMap options) {
    String table = options.getOrDefault("table", "messages");
    String wanted = table.strip().toLowerCase(Locale.ROOT);
    if (PYTHONS_TABLES.contains(wanted)) {
      return "the option table";
    }
    if (!wanted.equals("messages")) {
      throw SourceException.option("table", table, "It is messages, queues or counts");
    }
    String paths = options.getOrDefault("path", "") + "," + options.getOrDefault("paths", "");
    return !isOfEndpoint(options) && URL.matcher(paths).find() ? "a path that is a URL" : null;
  }

  private static boolean isOfEndpoint(CaseInsensitiveStringMap options) {
    return !options.getOrDefault("namesrv", "").isBlank();
  }

  private TableProvider python(String reason) {
    if (python == null) {
      python = PythonSource.provider(reason);
    }
    return python;
  }
}
