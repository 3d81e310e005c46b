package compat;

import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * New groups that begin at the first message, at the last and at a time. Two messages a queue are sent before a second begins
 * ("early"), which is that time, two after it ("late"), and two once all groups have found where they begin ("new").
 */
public final class ConsumeFrom implements Scenario {
    private static final long SECOND = 1000;
    private static final long MARGIN = 100;

    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        Map<String, DefaultMQPushConsumer> consumers = new LinkedHashMap<>();
        Map<String, Inbox> inboxes = new LinkedHashMap<>();
        try {
            List<MessageQueue> queues = producer.fetchPublishMessageQueues(in.text("topic"));
            send(producer, queues, "early");
            long boundary = (System.currentTimeMillis() + MARGIN) / SECOND * SECOND + SECOND;
            Thread.sleep(boundary + MARGIN - System.currentTimeMillis());
            send(producer, queues, "late");
            for (String where : new String[] {"FIRST_OFFSET", "LAST_OFFSET", "TIMESTAMP"}) {
                Inbox inbox = new Inbox(out);
                inboxes.put(where, inbox);
                consumers.put(where, join(in, where, boundary, inbox));
            }
            for (DefaultMQPushConsumer consumer : consumers.values()) {
                while (consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
                    .filter(queues::contains).count() < queues.size()) {
                    Thread.sleep(20);
                }
            }
            send(producer, queues, "new");
            for (Map.Entry<String, Inbox> each : inboxes.entrySet()) {
                each.getValue().await(in.number(each.getKey()), in.number("wait", Clients.LONG), 100);
            }
        } finally {
            Clients.leave(producer::shutdown);
            for (DefaultMQPushConsumer consumer : consumers.values()) {
                Clients.leave(consumer::shutdown);
            }
        }
    }

    private static DefaultMQPushConsumer join(Request in, String where, long time, Inbox inbox) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        consumer.setConsumerGroup(in.text("group") + "_" + where);
        consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf("CONSUME_FROM_" + where));
        consumer.setConsumeTimestamp(new SimpleDateFormat("yyyyMMddHHmmss").format(new Date(time)));
        consumer.subscribe(in.text("topic"), "*");
        consumer.registerMessageListener(inbox.listener(where));
        consumer.start();
        return consumer;
    }

    private static void send(DefaultMQProducer producer, List<MessageQueue> queues, String when) throws Exception {
        for (int i = 0; i < 2; i++) {
            for (MessageQueue queue : queues) {
                String body = when + " " + queue.getQueueId() + " " + i;
                producer.send(new Message(queue.getTopic(), body.getBytes(StandardCharsets.UTF_8)), queue);
            }
        }
    }
}
