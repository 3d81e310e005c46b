package compat;

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.SendReceipt;

/** The events of a client of 5.x. */
public final class Out extends Lines {
    private static final Pattern CODE = Pattern.compile("response-code=(\\d+)");

    public Out(PrintStream stream) {
        super(stream);
    }

    public void sent(String text, SendReceipt receipt) {
        event("sent").put("msgId", receipt.getMessageId().toString()).put("handle", Receipts.handle(receipt))
            .put("text", text).print();
    }

    public Event message(String name, MessageView message) throws Exception {
        ByteBuffer content = message.getBody();
        byte[] body = new byte[content.remaining()];
        content.get(body);
        return event(name).put("topic", message.getTopic()).put("msgId", message.getMessageId().toString())
            .put("tags", message.getTag().orElse(null))
            .put("keys", message.getKeys().isEmpty() ? null : String.join(" ", message.getKeys()))
            .put("properties", new LinkedHashMap<>(message.getProperties()))
            .put("messageGroup", message.getMessageGroup().orElse(null))
            .put("due", message.getDeliveryTimestamp().orElse(null))
            .put("bornTimestamp", message.getBornTimestamp()).put("bornHost", message.getBornHost())
            .put("attempt", message.getDeliveryAttempt()).put("length", body.length).put("sha256", sha256(body))
            .put("text", body.length <= SHORT_BODY ? new String(body, StandardCharsets.UTF_8) : null)
            .put("at", System.currentTimeMillis());
    }

    public void failure(String name, Throwable problem) {
        Throwable cause = problem;
        while (cause.getCause() != null && !(cause instanceof ClientException)) {
            cause = cause.getCause();
        }
        Event event = event(name).put("error", cause.getClass().getSimpleName()).put("text", String.valueOf(cause.getMessage()));
        Matcher code = CODE.matcher(String.valueOf(cause.getMessage()));
        event.put("code", code.find() ? Integer.valueOf(code.group(1)) : null);
        StackTraceElement[] trace = cause.getStackTrace();
        event.put("at", trace.length == 0 ? null : String.valueOf(trace[0])).print();
    }
}
