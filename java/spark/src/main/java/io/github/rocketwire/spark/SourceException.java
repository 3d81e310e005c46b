package io.github.rocketwire.spark;

import java.util.Map;
import org.apache.spark.SparkThrowable;

/**
 * An error of the data source: its class, what is wrong, and what helps, as those of the Python source
 * ({@code spark/errors.py}). PySpark shows an IllegalArgumentException by its message alone.
 */
public final class SourceException extends IllegalArgumentException implements SparkThrowable {
  private static final long serialVersionUID = 1;

  public static final String OPTION_INVALID = "ROCKETMQ_OPTION_INVALID";
  public static final String NOT_A_STORE = "ROCKETMQ_NOT_A_STORE";
  public static final String PATH_UNREADABLE = "ROCKETMQ_PATH_UNREADABLE";
  public static final String TOPIC_UNKNOWN = "ROCKETMQ_TOPIC_UNKNOWN";
  public static final String DATA_LOST = "ROCKETMQ_DATA_LOST";
  public static final String RECORD_MALFORMED = "ROCKETMQ_RECORD_MALFORMED";
  public static final String ENDPOINT_UNREACHABLE = "ROCKETMQ_ENDPOINT_UNREACHABLE";
  public static final String ENDPOINT_REFUSED = "ROCKETMQ_ENDPOINT_REFUSED";
  public static final String WRITE_UNSUPPORTED = "ROCKETMQ_WRITE_UNSUPPORTED";
  public static final String MESSAGE_INVALID = "ROCKETMQ_MESSAGE_INVALID";
  public static final String SEND_FAILED = "ROCKETMQ_SEND_FAILED";

  private final String errorClass;

  public SourceException(String errorClass, String what, String remedy) {
    super("[" + errorClass + "] " + what + ". " + remedy);
    this.errorClass = errorClass;
  }

  /** The error for an invalid value of an option. */
  public static SourceException option(String name, String text, String remedy) {
    String shown = text.length() > 300 ? text.substring(0, 300) : text;
    return new SourceException(OPTION_INVALID, "option " + name + " cannot be '" + shown + "'", remedy);
  }

  /** The name of the getter in Spark 3.5. */
  @Override
  public String getErrorClass() {
    return errorClass;
  }

  /** The name of the getter in Spark 4. */
  public String getCondition() {
    return errorClass;
  }

  @Override
  public String getSqlState() {
    return null;
  }

  @Override
  public Map<String, String> getMessageParameters() {
    return Map.of();
  }
}
