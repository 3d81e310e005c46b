package compat;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.apache.camel.Message;
import org.apache.camel.component.rocketmq.RocketMQConstants;

/** What the programs of Camel's component share: endpoints, and what is printed of messages. */
final class Camel {
    private Camel() {
    }

    static String endpoint(Request in, String more) {
        String account = in.all("accessKey").isEmpty() ? ""
            : "&accessKey=" + encoded(in.text("accessKey")) + "&secretKey=" + encoded(in.text("secretKey"));
        return "rocketmq:" + in.text("topic") + "?namesrvAddr=" + encoded(in.text("namesrv")) + account + more;
    }

    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /** Prints a message by the headers that the component gives it: a message's properties are not among them. */
    static void received(Out out, Message message) throws Exception {
        byte[] body = message.getBody(byte[].class);
        Map<String, Object> headers = message.getHeaders();
        out.event("received").put("by", "push").put("topic", headers.get(RocketMQConstants.TOPIC))
            .put("broker", headers.get(RocketMQConstants.BROKER_NAME)).put("queueId", headers.get(RocketMQConstants.QUEUE_ID))
            .put("queueOffset", headers.get(RocketMQConstants.QUEUE_OFFSET)).put("msgId", headers.get(RocketMQConstants.MSG_ID))
            .put("tags", headers.get(RocketMQConstants.TAG)).put("keys", headers.get(RocketMQConstants.KEY))
            .put("properties", new TreeMap<>()).put("sysFlag", headers.get(RocketMQConstants.SYS_FLAG))
            .put("bornTimestamp", headers.get(RocketMQConstants.BORN_TIMESTAMP))
            .put("storeTimestamp", headers.get(RocketMQConstants.STORE_TIMESTAMP))
            .put("physicalOffset", headers.get(RocketMQConstants.COMMIT_LOG_OFFSET))
            .put("storeSize", headers.get(RocketMQConstants.STORE_SIZE))
            .put("reconsumeTimes", headers.get(RocketMQConstants.RECONSUME_TIMES)).put("length", body.length)
            .put("sha256", Lines.sha256(body)).put("text", body.length <= Lines.SHORT_BODY ? new String(body, StandardCharsets.UTF_8) : null)
            .put("at", System.currentTimeMillis()).print();
    }
}
