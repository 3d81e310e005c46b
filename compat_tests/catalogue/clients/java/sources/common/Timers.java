package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * A waiting push consumer is sent messages to be delivered later. Those whose numbers stand in `recall` are recalled by their
 * handles; the unique keys of those in `cancel` are cancelled by a message that carries the same time and TIMER_DEL_UNIQKEY.
 */
final class Timers {
    private Timers() {
    }

    public static void timers(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        Inbox inbox = new Inbox(out);
        String topic = in.text("topic");
        consumer.registerMessageListener(inbox.listener("push"));
        Clients.consuming(consumer, started -> Clients.producing(in, producer -> {
            List<Messages.Wanted> all = Messages.of(in);
            List<SendResult> sent = new ArrayList<>();
            for (Messages.Wanted wanted : all) {
                sent.add(send(producer, wanted, out));
            }
            for (String number : in.all("recall")) {
                recall(producer, topic, Shim.recallHandle(sent.get(Integer.parseInt(number))), out);
            }
            for (String number : in.all("cancel")) {
                cancel(producer, all.get(Integer.parseInt(number)), out);
            }
            inbox.await(in);
        }));
    }

    private static SendResult send(DefaultMQProducer producer, Messages.Wanted wanted, Out out) throws Exception {
        try {
            SendResult result = producer.send(wanted.message);
            out.sent(out.event("sent").put("handle", Shim.recallHandle(result)), result);
            return result;
        } catch (MQBrokerException | MQClientException refused) {
            out.failure("refused", refused);
            return null;
        }
    }

    private static void recall(DefaultMQProducer producer, String topic, String handle, Out out) throws Exception {
        try {
            out.event("recalled").put("msgId", Shim.recall(producer, topic, handle)).print();
        } catch (MQBrokerException | MQClientException refused) {
            out.failure("not recalled", refused);
        }
    }

    /** The marker is a separate message, with another unique key. */
    private static void cancel(DefaultMQProducer producer, Messages.Wanted target, Out out) throws Exception {
        Message marker = new Message(target.message.getTopic(), new byte[] {'x'});
        Shim.property(marker, "TIMER_DELIVER_MS", target.message.getProperty("TIMER_DELIVER_MS"));
        Shim.property(marker, "TIMER_DEL_UNIQKEY", target.message.getProperty("UNIQ_KEY"));
        out.sent(out.event("cancelled"), producer.send(marker));
    }
}
