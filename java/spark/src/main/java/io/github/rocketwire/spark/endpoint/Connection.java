package io.github.rocketwire.spark.endpoint;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.rocketwire.spark.Facts;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * One connection to a name server or broker, in the remoting protocol with headers in JSON. Several requests may be in
 * flight; a peer's own requests are ignored. After an error it cannot be used.
 */
public final class Connection implements Closeable {
  private static final ObjectMapper JSON =
      new ObjectMapper().configure(JsonParser.Feature.ALLOW_UNQUOTED_FIELD_NAMES, true); // as fastjson writes routes
  private static final int VERSION = 407; // of 4.9.7
  private static final int MOST = 64 << 20; // bytes of an answer
  private static final int AT_ONCE = 64;
  public static final byte[] NO_BODY = {};

  /** A response: its code, remark, fields and body. */
  public record Answer(int code, String remark, JsonNode fields, byte[] body) {
    /** The body, which is a table in JSON; an empty one without a body. */
    public JsonNode json(String what) throws RemotingException {
      try {
        return body.length == 0 ? JSON.createObjectNode() : JSON.readTree(body);
      } catch (IOException error) {
        throw RemotingException.notReached(what, "does not speak RocketMQ's protocol: its answer is no JSON", error);
      }
    }

    /** A whole number among the fields. */
    public long number(String name) throws RemotingException {
      String text = fields.path(name).asText();
      try {
        return Long.parseLong(text);
      } catch (NumberFormatException error) {
        throw RemotingException.unreadable("its field " + name + " is " + (text.isEmpty() ? "missing" : text));
      }
    }
  }

  /** The peer in errors, as {@code broker 127.0.0.1:10911}. */
  public final String what;

  private final EndpointOptions endpoint;
  private final Socket socket = new Socket();
  private final DataInputStream in;
  private final DataOutputStream out;
  private final Map<Integer, Answer> early = new HashMap<>();
  private int opaque;

  /**
   * Connects.
   *
   * @param kind {@code broker} or {@code name server}, for errors
   * @param address the host without brackets, and the port
   */
  Connection(String kind, InetSocketAddress address, EndpointOptions endpoint) throws RemotingException {
    String host = address.getHostString();
    this.what = kind + " " + (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    this.endpoint = endpoint;
    try {
      socket.connect(new InetSocketAddress(host, address.getPort()), endpoint.timeoutMs);
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(endpoint.timeoutMs);
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
      out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 1 << 16));
    } catch (IOException error) {
      close();
      throw RemotingException.notReached(what, "cannot be reached: " + reason(error), error);
    }
  }

  /** The local address. */
  public byte[] ownAddress() {
    return socket.getLocalAddress().getAddress();
  }

  /** Sends a request and returns its opaque, for {@link #answer}. */
  public int send(int code, Map<String, String> fields, byte[] body) throws RemotingException {
    opaque = opaque == Integer.MAX_VALUE ? 1 : opaque + 1;
    ObjectNode header = JSON.createObjectNode()
        .put("code", code)
        .put("language", "JAVA")
        .put("version", VERSION)
        .put("opaque", opaque)
        .put("flag", 0)
        .put("serializeTypeCurrentRPC", "JSON");
    ObjectNode ext = header.putObject("extFields");
    signed(fields, body).forEach(ext::put);
    try {
      byte[] head = JSON.writeValueAsBytes(header);
      out.writeInt(4 + head.length + body.length);
      out.writeInt(head.length);
      out.write(head);
      out.write(body);
      out.flush();
    } catch (IOException error) {
      throw RemotingException.notReached(what, "the connection failed: " + reason(error), error);
    }
    return opaque;
  }

  /** Waits for the answer to a request that was sent. */
  public Answer answer(int wanted) throws RemotingException {
    Answer found = early.remove(wanted);
    try {
      while (found == null) {
        int length = in.readInt();
        int headLength = in.readInt() & 0xFFFFFF;
        if (length < 4 || length > MOST || headLength > length - 4) {
          throw RemotingException.notReached(what, "does not speak RocketMQ's protocol: a frame's lengths", null);
        }
        byte[] head = in.readNBytes(headLength);
        byte[] body = in.readNBytes(length - 4 - headLength);
        if (head.length < headLength || body.length < length - 4 - headLength) {
          throw new EOFException();
        }
        JsonNode header = JSON.readTree(head);
        if ((header.path("flag").asInt() & Facts.FLAG_RESPONSE) == 0) {
          continue;
        }
        Answer answer = new Answer(
            header.path("code").asInt(), header.path("remark").textValue(), header.path("extFields"), body);
        if (header.path("opaque").asInt() == wanted) {
          found = answer;
        } else {
          early.put(header.path("opaque").asInt(), answer);
        }
      }
    } catch (RemotingException error) {
      throw error;
    } catch (SocketTimeoutException error) {
      throw RemotingException.notReached(what, "no answer within " + endpoint.timeoutMs / 1000.0 + " s", error);
    } catch (EOFException error) {
      throw RemotingException.notReached(what, "closed the connection", error);
    } catch (IOException error) {
      throw RemotingException.notReached(what, "the connection failed: " + reason(error), error);
    }
    return found;
  }

  /** The answer to one request, whatever its code. */
  public Answer request(int code, Map<String, String> fields) throws RemotingException {
    return answer(send(code, fields, NO_BODY));
  }

  /** The answers to many requests of one kind, in their order; some are always in flight. */
  public List<Answer> requestAll(int code, List<Map<String, String>> requests, Set<Integer> fine)
      throws RemotingException {
    List<Answer> found = new ArrayList<>();
    Deque<Integer> waiting = new ArrayDeque<>();
    for (Map<String, String> fields : requests) {
      waiting.add(send(code, fields, NO_BODY));
      if (waiting.size() == AT_ONCE) {
        found.add(checked(answer(waiting.remove()), fine));
      }
    }
    while (!waiting.isEmpty()) {
      found.add(checked(answer(waiting.remove()), fine));
    }
    return found;
  }

  /** The same answer, if its code is one of these; else it is an error. */
  public Answer checked(Answer answer, Set<Integer> fine) throws RemotingException {
    if (!fine.contains(answer.code())) {
      throw RemotingException.refused(what, answer.code(), answer.remark());
    }
    return answer;
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException error) {
      // nothing is lost: what is not acknowledged is sent again
    }
  }

  /** The fields with the account's name, and the signature of all values in the order of their names, and the body. */
  private Map<String, String> signed(Map<String, String> fields, byte[] body) {
    if (endpoint.accessKey == null) {
      return fields;
    }
    TreeMap<String, String> named = new TreeMap<>(fields);
    named.put(Facts.FIELD_ACCESS_KEY, endpoint.accessKey);
    try {
      Mac mac = Mac.getInstance("HmacSHA1");
      mac.init(new SecretKeySpec(endpoint.secretKey.getBytes(StandardCharsets.UTF_8), "HmacSHA1"));
      for (String value : named.values()) {
        mac.update(value.getBytes(StandardCharsets.UTF_8));
      }
      named.put(Facts.FIELD_SIGNATURE, Base64.getEncoder().encodeToString(mac.doFinal(body)));
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error); // every JVM has HmacSHA1
    }
    return named;
  }

  private static String reason(IOException error) {
    return error instanceof SocketTimeoutException ? "no answer in time" : String.valueOf(error.getMessage());
  }
}
