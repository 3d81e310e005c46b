package compat;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Prints events as JSON lines; several threads may print. */
public final class Out {
    private static final int SHORT_BODY = 4096;
    private final PrintStream stream;

    public Out(PrintStream stream) {
        this.stream = stream;
    }

    /** One JSON object being put together. */
    public final class Event {
        private final Map<String, Object> fields = new LinkedHashMap<>();

        public Event put(String key, Object value) {
            fields.put(key, value);
            return this;
        }

        public void print() {
            StringBuilder line = new StringBuilder();
            write(line, fields);
            synchronized (stream) {
                stream.print(line.append('\n'));
                stream.flush();
            }
        }
    }

    public Event event(String name) {
        return new Event().put("event", name);
    }

    public void sent(SendResult result) {
        sent(event("sent"), result);
    }

    /** The same with what the scenario has put into the event before. */
    public void sent(Event event, SendResult result) {
        event.put("status", result.getSendStatus().name()).put("msgId", result.getMsgId())
            .put("offsetMsgId", result.getOffsetMsgId()).put("topic", result.getMessageQueue().getTopic())
            .put("broker", result.getMessageQueue().getBrokerName())
            .put("queueId", result.getMessageQueue().getQueueId()).put("queueOffset", result.getQueueOffset()).print();
    }

    public void received(String by, MessageExt message) throws Exception {
        message("received", message).put("by", by).put("at", System.currentTimeMillis()).print();
    }

    public Event message(String name, MessageExt message) throws Exception {
        byte[] body = message.getBody();
        return event(name).put("topic", message.getTopic()).put("queueId", message.getQueueId())
            .put("queueOffset", message.getQueueOffset()).put("msgId", message.getMsgId()).put("tags", message.getTags())
            .put("keys", message.getKeys()).put("properties", new LinkedHashMap<>(message.getProperties()))
            .put("flag", message.getFlag()).put("sysFlag", message.getSysFlag())
            .put("bornTimestamp", message.getBornTimestamp()).put("storeTimestamp", message.getStoreTimestamp())
            .put("bornHost", String.valueOf(message.getBornHost())).put("storeHost", String.valueOf(message.getStoreHost()))
            .put("physicalOffset", message.getCommitLogOffset()).put("storeSize", message.getStoreSize())
            .put("reconsumeTimes", message.getReconsumeTimes()).put("length", body.length).put("sha256", sha256(body))
            .put("text", body.length <= SHORT_BODY ? new String(body, StandardCharsets.UTF_8) : null);
    }

    public void failure(String name, Throwable problem) {
        Event event = event(name).put("error", problem.getClass().getSimpleName());
        if (problem instanceof MQBrokerException) {
            MQBrokerException refused = (MQBrokerException) problem;
            event.put("code", refused.getResponseCode()).put("message", refused.getErrorMessage());
        } else if (problem instanceof MQClientException) {
            MQClientException refused = (MQClientException) problem;
            event.put("code", refused.getResponseCode()).put("message", refused.getErrorMessage());
        }
        event.put("text", problem.getMessage()).put("at", String.valueOf(problem.getStackTrace()[0])).print();
    }

    public static String queue(MessageQueue queue) {
        return queue.getBrokerName() + ":" + queue.getQueueId();
    }

    private static String sha256(byte[] body) throws Exception {
        StringBuilder hex = new StringBuilder();
        for (byte b : MessageDigest.getInstance("SHA-256").digest(body)) {
            hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }

    private static void write(StringBuilder line, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            line.append(value);
        } else if (value instanceof Map) {
            String comma = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                line.append(comma);
                write(line, String.valueOf(entry.getKey()));
                line.append(':');
                write(line, entry.getValue());
                comma = ",";
            }
            line.append(comma.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String comma = "[";
            for (Object item : (Iterable<?>) value) {
                line.append(comma);
                write(line, item);
                comma = ",";
            }
            line.append(comma.equals("[") ? "[]" : "]");
        } else {
            quote(line, value.toString());
        }
    }

    private static void quote(StringBuilder line, String text) {
        line.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                line.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c)) {
                line.append(String.format("\\u%04x", (int) c));
            } else {
                line.append(c);
            }
        }
        line.append('"');
    }
}
