package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;

/** Messages found by their keys and ids. The index is written behind the log: what is not found yet is queried again. */
final class Queries {
    private Queries() {
    }

    /** Sends messages and queries them: by unique key and by key, and by offset message id. */
    public static void query(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            String topic = in.text("topic");
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
        });
    }

    /** Prints the message with a unique key, once it is found. */
    private static void byUniqueKey(DefaultMQProducer producer, String topic, String key, Out out) throws Exception {
        long end = System.currentTimeMillis() + 1000L * Clients.LONG;
        while (true) {
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
    private static List<MessageExt> byKey(DefaultMQProducer producer, String topic, String key, int most, Out out) throws Exception {
        long end = System.currentTimeMillis() + 1000L * Clients.LONG;
        while (true) {
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

    /** Queries a key once. */
    public static void queryMissing(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            try {
                producer.queryMessage(in.text("topic"), in.text("key"), 32, 0, System.currentTimeMillis());
                out.event("found").print();
            } catch (MQClientException nothing) {
                out.failure("nothing", nothing);
            }
        });
    }

    /** Finds dead letters by key, each by its ids, and sends each of them again to the topic it came from. */
    public static void deadLetters(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            String topic = in.text("topic");
            for (String key : in.all("key")) {
                for (MessageExt letter : byKey(producer, topic, key, 32, out)) {
                    String offsetId = ((MessageClientExt) letter).getOffsetMsgId();
                    out.message("by offset id", producer.viewMessage(topic, offsetId)).print();
                    out.message("by unique key", producer.viewMessage(topic, letter.getMsgId())).print();
                    String origin = letter.getProperty("RETRY_TOPIC");
                    out.sent(producer.send(new Message(origin, letter.getTags(), letter.getKeys(), letter.getBody())));
                }
            }
        });
    }
}
