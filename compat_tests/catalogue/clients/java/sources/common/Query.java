package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;

/** Sends messages and asks for them again: by unique key and by key (waiting for the index), by offset message id. */
public final class Query implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        String topic = in.text("topic");
        try {
            List<SendResult> sent = new ArrayList<>();
            for (Messages.Wanted wanted : Messages.of(in)) {
                sent.add(producer.send(wanted.message));
                out.sent(sent.get(sent.size() - 1));
            }
            for (SendResult result : sent) {
                out.message("by offset id", producer.viewMessage(topic, result.getOffsetMsgId())).print();
                byUniqueKey(producer, topic, result.getMsgId(), out);
            }
            // The index has all of them now, since it is written in their order.
            for (String key : in.all("key")) {
                byKey(producer, topic, key, in.number("most", 32), out);
            }
            for (String missing : in.all("missing")) {
                try {
                    MessageExt found = producer.viewMessage(topic, missing);
                    out.event("missing").put("id", missing).put("found", found != null).print();
                } catch (MQBrokerException | MQClientException refused) {
                    out.failure("missing", refused);
                }
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }

    /** The message with a unique key, once it is found; printed. */
    private static void byUniqueKey(DefaultMQProducer producer, String topic, String key, Out out) throws Exception {
        long end = System.currentTimeMillis() + 1000L * Clients.LONG;
        while (true) { // the index is written behind the log
            try {
                out.message("by unique key", producer.viewMessage(topic, key)).print();
                return;
            } catch (MQClientException nothing) {
                if (System.currentTimeMillis() > end) {
                    throw nothing;
                }
                Thread.sleep(100);
            }
        }
    }

    /** What is found with the key once something is; printed, too. */
    static List<MessageExt> byKey(DefaultMQProducer producer, String topic, String key, int most, Out out) throws Exception {
        long end = System.currentTimeMillis() + 1000L * Clients.LONG;
        while (true) { // the index is written behind the log
            try {
                QueryResult result = producer.queryMessage(topic, key, most, 0, System.currentTimeMillis() + 1_000);
                for (MessageExt message : result.getMessageList()) {
                    out.message("by key", message).put("key", key).print();
                }
                return result.getMessageList();
            } catch (MQClientException nothing) {
                if (System.currentTimeMillis() > end) {
                    out.failure("no such key", nothing);
                    return new ArrayList<>();
                }
                Thread.sleep(100);
            }
        }
    }
}
