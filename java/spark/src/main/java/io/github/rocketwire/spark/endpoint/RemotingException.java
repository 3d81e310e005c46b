package io.github.rocketwire.spark.endpoint;

import io.github.rocketwire.spark.Facts;
import java.io.IOException;

/** What went wrong between this process and a name server or broker; the text is one line for the user. */
public final class RemotingException extends IOException {
  private static final long serialVersionUID = 1;

  /** What kind of failure it is. */
  public enum Kind {
    /** No answer, or not in time, or not in RocketMQ's protocol. */
    NOT_REACHED,
    /** No broker of a name is registered. */
    NO_BROKER,
    /** The name server has no route for a topic. */
    NO_SUCH_TOPIC,
    /** The peer answered with an error. */
    REFUSED,
    /** The peer answered something that makes no sense. */
    UNREADABLE
  }

  public final Kind kind;
  /** The response code of a refusal, else 0. */
  public final int code;

  private RemotingException(Kind kind, int code, String text, Throwable cause) {
    super(text, cause);
    this.kind = kind;
    this.code = code;
  }

  public static RemotingException notReached(String what, String reason, Throwable cause) {
    return new RemotingException(Kind.NOT_REACHED, 0, what + ": " + reason, cause);
  }

  public static RemotingException noBroker(String nameServer, String name) {
    return new RemotingException(
        Kind.NO_BROKER, 0, nameServer + ": no broker " + name + " is registered there", null);
  }

  static RemotingException noSuchTopic(String topic, String nameServer) {
    return new RemotingException(
        Kind.NO_SUCH_TOPIC, 0, "topic " + topic + ": the name server " + nameServer + " knows no such topic", null);
  }

  static RemotingException unreadable(String reason) {
    return new RemotingException(
        Kind.UNREADABLE, 0, "the endpoint's answer cannot be read: " + reason, null);
  }

  public static RemotingException refused(String what, int code, String remark) {
    String text = remark == null ? "" : remark.strip();
    int acl = text.indexOf(ACL);
    if (acl >= 0) {
      String words = text.substring(acl + ACL.length()).replaceFirst("^[: ]+", "").lines().findFirst().orElse("no remark");
      return new RemotingException(Kind.REFUSED, code, what + " refuses access: " + words, null);
    }
    String line = text.lines().findFirst().orElse("no remark");
    return new RemotingException(Kind.REFUSED, code, what + " answered code " + code + ": " + line, null);
  }

  private static final String ACL = "org.apache.rocketmq.acl.common.AclException";

  /** Whether the broker is busy, or limits the rate: it may do it later. */
  public boolean busy() {
    return kind == Kind.REFUSED && (code == Facts.RESPONSE_SYSTEM_BUSY || code == Facts.RESPONSE_FLOW_CONTROL);
  }

}
