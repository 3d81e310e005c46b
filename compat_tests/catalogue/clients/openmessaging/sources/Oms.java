package compat;

import io.openmessaging.BytesMessage;
import io.openmessaging.KeyValue;
import io.openmessaging.Message;
import io.openmessaging.MessagingAccessPoint;
import io.openmessaging.OMS;
import io.openmessaging.OMSBuiltinKeys;
import io.openmessaging.producer.Producer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** What the programs of the OpenMessaging client share: the access point, messages, what is printed of them. */
final class Oms {
    private final AtomicInteger received = new AtomicInteger();
    private final Out out;

    Oms(Out out) {
        this.out = out;
    }

    /** The URL's last part names a region and an account, which only cloud services have. */
    static MessagingAccessPoint accessPoint(Request in) {
        return OMS.getMessagingAccessPoint("oms:rocketmq://" + in.text("namesrv").replace(';', ',') + "/default:default");
    }

    static KeyValue group(Request in) {
        return OMS.newKeyValue().put(OMSBuiltinKeys.CONSUMER_ID, in.text("group"));
    }

    static Producer producer(Request in) {
        Producer producer = accessPoint(in).createProducer(OMS.newKeyValue().put("OPERATION_TIMEOUT", 30_000));
        producer.startup();
        return producer;
    }

    /** The messages that the request describes. The client has no names for tags and keys: RocketMQ's stand in the
     ** user's headers. */
    static List<BytesMessage> messages(Request in, Producer producer) throws Exception {
        List<BytesMessage> all = new ArrayList<>();
        for (Messages.Wanted wanted : Messages.of(in)) {
            BytesMessage message = producer.createBytesMessage(in.text("topic"), wanted.message.getBody());
            for (Map.Entry<String, String> property : wanted.message.getProperties().entrySet()) {
                message.putUserHeaders(property.getKey(), property.getValue());
            }
            all.add(message);
        }
        return all;
    }

    void received(String by, Message message) throws Exception {
        byte[] body = ((BytesMessage) message).getBody(byte[].class);
        KeyValue headers = message.sysHeaders();
        Map<String, String> properties = new TreeMap<>();
        for (String name : message.userHeaders().keySet()) {
            properties.put(name, message.userHeaders().getString(name));
        }
        out.event("received").put("by", by).put("topic", headers.getString(Message.BuiltinKeys.DESTINATION))
            .put("msgId", headers.getString(Message.BuiltinKeys.MESSAGE_ID)).put("tags", properties.get("TAGS"))
            .put("keys", properties.get("KEYS")).put("properties", properties)
            .put("bornTimestamp", headers.getLong(Message.BuiltinKeys.BORN_TIMESTAMP))
            .put("storeTimestamp", headers.getLong(Message.BuiltinKeys.STORE_TIMESTAMP))
            .put("bornHost", headers.getString(Message.BuiltinKeys.BORN_HOST))
            .put("storeHost", headers.getString(Message.BuiltinKeys.STORE_HOST)).put("length", body.length)
            .put("sha256", Lines.sha256(body)).put("text", body.length <= Lines.SHORT_BODY ? new String(body, StandardCharsets.UTF_8) : null)
            .put("at", System.currentTimeMillis()).print();
        received.incrementAndGet();
    }

    int count() {
        return received.get();
    }

    void await(Request in) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Clients.LONG));
        while (received.get() < in.number("count") && System.nanoTime() < end) {
            Thread.sleep(10);
        }
        Thread.sleep(in.number("settle", 300));
    }
}
