package io.github.rocketwire.spark;

import org.apache.spark.sql.connector.catalog.TableProvider;

/**
 * Spark's provider of the Python source. Spark looks for a name among Java's sources first, and gives it to Python's only
 * if there is none; so this source hands over what it leaves to Python. The class is Spark's own, and new in 4.0.
 */
final class PythonSource {
  private static final String PROVIDER = "org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2";

  private PythonSource() {}

  /**
   * A provider that asks the Python source.
   *
   * @param reason what needs it, for the error
   */
  static TableProvider provider(String reason) {
    try {
      Class<?> type = Class.forName(PROVIDER);
      Object provider = type.getDeclaredConstructor().newInstance();
      type.getMethod("setShortName", String.class).invoke(provider, "rocketmq");
      return (TableProvider) provider;
    } catch (ReflectiveOperationException error) {
      throw new SourceException(
          SourceException.OPTION_INVALID,
          reason + " needs rocketwire's Python source, which this Spark does not have: the jar reads directories and endpoints",
          "Use Spark 4.2 or newer with pip install 'rocketwire[spark]', or read the directory of a store");
    }
  }
}
