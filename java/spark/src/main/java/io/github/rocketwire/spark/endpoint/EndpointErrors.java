package io.github.rocketwire.spark.endpoint;

import io.github.rocketwire.spark.Facts;
import io.github.rocketwire.spark.SourceException;

/** The errors of the data source for those of an endpoint. */
public final class EndpointErrors {
  private EndpointErrors() {}

  public static SourceException of(RemotingException error, EndpointOptions endpoint) {
    SourceException found = switch (error.kind) {
      case NO_SUCH_TOPIC -> new SourceException(
          SourceException.TOPIC_UNKNOWN,
          error.getMessage(),
          "Check the options topic and namesrv, or create the topic");
      case NOT_REACHED, NO_BROKER -> new SourceException(
          SourceException.ENDPOINT_UNREACHABLE,
          error.getMessage(),
          "Check that " + endpoint.nameServers + " runs, and that driver and executors reach it and the addresses that"
              + " its brokers advertise; the option endpointTimeoutMs says how long an answer may take");
      case REFUSED -> new SourceException(SourceException.ENDPOINT_REFUSED, error.getMessage(), remedy(error.code));
      case UNREADABLE -> new SourceException(
          SourceException.ENDPOINT_REFUSED, error.getMessage(), "See the log of the broker");
    };
    found.initCause(error);
    return found;
  }

  private static String remedy(int code) {
    return switch (code) {
      case Facts.RESPONSE_NO_PERMISSION -> "Grant the permission, or choose other topics";
      case Facts.RESPONSE_TOPIC_NOT_EXIST -> "Check the options topic and namesrv, or create the topic";
      case Facts.RESPONSE_SUBSCRIPTION_GROUP_NOT_EXIST -> "Create the group, or give another by the option consumerGroup";
      case Facts.RESPONSE_SYSTEM_BUSY -> "Ask for less at once (fewer tasks), or raise what the broker allows";
      case Facts.RESPONSE_FLOW_CONTROL -> "Ask for less at once (fewer tasks), or raise the broker's quota";
      default -> "See the log of the broker; where it controls access, give the options accessKey and secretKey of an"
          + " account that may do this";
    };
  }
}
