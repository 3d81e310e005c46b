package compat;

import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/**
 * A push consumer and a producer with enableMsgTrace: the messages are sent and consumed; those with the tag Later are given back
 * the first time. `model` may be broadcasting, `listener` orderly, and `rebalance` broker. (4.4.0 has one trace producer for each
 * text of name servers in a JVM, and two may not have the same: so the consumer gets the address twice.)
 */
final class Traces {
    private static final int SETTLE = 300;

    private Traces() {
    }

    public static void traced(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        DefaultMQPushConsumer consumer = consumer(in, inbox);
        DefaultMQProducer producer = Clients.own(new DefaultMQProducer(in.text("producerGroup"), Clients.signer(in), true, null), in);
        TraceShim.atOnce(producer);
        try {
            consumer.start();
            producer.start();
            int count = 0;
            for (Messages.Wanted wanted : Messages.of(in)) {
                out.sent(producer.send(wanted.message));
                count++;
            }
            inbox.await(count, in.number("wait", Clients.LONG), SETTLE);
        } finally {
            producer.shutdown(); // the end of both sends the traces that wait
            consumer.shutdown();
        }
    }

    private static DefaultMQPushConsumer consumer(Request in, Inbox inbox) throws Exception {
        DefaultMQPushConsumer consumer = Clients.own(
            new DefaultMQPushConsumer(in.text("group"), Clients.signer(in), new AllocateMessageQueueAveragely(), true, null), in);
        TraceShim.atOnce(consumer);
        consumer.setNamesrvAddr(in.text("namesrv") + ";" + in.text("namesrv"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(in.text("topic"), "*");
        if (in.text("model", "").equals("broadcasting")) {
            Shim.broadcasting(consumer);
        }
        if (in.text("rebalance", "client").equals("broker")) {
            Shim.rebalancedByBroker(consumer);
        }
        if (in.text("listener", "").equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                inbox.take("traced", messages);
                return ConsumeOrderlyStatus.SUCCESS;
            });
            return consumer;
        }
        Set<String> givenBack = Collections.synchronizedSet(new HashSet<>());
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if ("Later".equals(messages.get(0).getTags()) && givenBack.add(messages.get(0).getKeys())) {
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            inbox.take("traced", messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }
}
