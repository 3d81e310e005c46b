package io.github.rocketwire.spark;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.package$;
import org.apache.spark.sql.connector.catalog.TableProvider;

/**
 * Spark's provider of the Python source. Spark searches a name among Java's sources first, and among Python's only if
 * there is none; so this source hands over what Python must read. The class is Spark's own, and new in 4.0; the Python
 * source needs 4.2.
 */
final class PythonSource {
  private static final String PROVIDER = "org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2";

  private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+)\\b.*");

  private PythonSource() {}

  /**
   * A provider that uses the Python source.
   *
   * @param reason what needs it, for the error
   */
  static TableProvider provider(String reason) {
    if (!runsWith(package$.MODULE$.SPARK_VERSION())) {
      throw missing(reason);
    }
    try {
      Class<?> type = Class.forName(PROVIDER);
      Object provider = type.getDeclaredConstructor().newInstance();
      type.getMethod("setShortName", String.class).invoke(provider, "rocketmq");
      return (TableProvider) provider;
    } catch (ReflectiveOperationException error) {
      throw missing(reason);
    }
  }

  /** Whether the Python source runs with this version of Spark. */
  static boolean runsWith(String version) {
    Matcher parts = VERSION.matcher(version);
    if (!parts.matches()) {
      return false;
    }
    int major = Integer.parseInt(parts.group(1));
    return major > 4 || major == 4 && Integer.parseInt(parts.group(2)) >= 2;
  }

  private static SourceException missing(String reason) {
    return new SourceException(
        SourceException.OPTION_INVALID,
        reason + " needs rocketwire's Python source, which this Spark does not have: the jar reads directories and endpoints",
        "Use Spark 4.2 or newer with pip install 'rocketwire[spark]', or read the directory of a store");
  }
}
