package compat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * The clients of the scenarios: defaults of the official client but for the name server, an instance name of its own each, and
 * heartbeats every 2 s. (A 5.x consumer that shares out its queues while its first heartbeat is on the way tells the broker of
 * its new subscription version only with the next one, 30 s later by default, and is refused every pull until then.)
 */
public final class Clients {
    private Clients() {
    }

    public static <C extends ClientConfig> C own(C client, Request in) {
        client.setNamesrvAddr(in.text("namesrv"));
        client.setInstanceName(in.text("instance", UUID.randomUUID().toString()));
        client.setClientIP("127.0.0.1");
        client.setHeartbeatBrokerInterval(2_000);
        return client;
    }

    public static DefaultMQProducer producer(Request in) throws Exception {
        DefaultMQProducer producer = own(new DefaultMQProducer(in.text("producerGroup", "compat_producer")), in);
        producer.setSendMsgTimeout(10_000);
        producer.setRetryTimesWhenSendFailed(in.number("retries", 2));
        producer.setCompressMsgBodyOverHowmuch(in.number("compressOver", producer.getCompressMsgBodyOverHowmuch()));
        producer.setMaxMessageSize(in.number("maxMessageSize", producer.getMaxMessageSize()));
        producer.setDefaultTopicQueueNums(in.number("queues", producer.getDefaultTopicQueueNums()));
        producer.start();
        return producer;
    }

    public static DefaultMQPushConsumer push(Request in) throws Exception {
        DefaultMQPushConsumer consumer = own(new DefaultMQPushConsumer(in.text("group")), in);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        consumer.setConsumeMessageBatchMaxSize(in.number("batch", 1));
        return consumer;
    }

    public static DefaultMQPullConsumer pull(Request in) throws Exception {
        DefaultMQPullConsumer consumer = own(new DefaultMQPullConsumer(in.text("group")), in);
        consumer.start();
        return consumer;
    }

    /**
     * Shuts a client down. A 5.x client has left the broker at once, yet goes on for up to 3 s waiting for a thread of its own;
     * that end is left to itself.
     */
    public static void leave(Runnable shutdown) throws InterruptedException {
        Thread leaving = new Thread(shutdown, "leaving");
        leaving.start();
        leaving.join(400);
    }

    /** The topic's queues, by broker and number. */
    public static List<MessageQueue> queues(Set<MessageQueue> queues) {
        List<MessageQueue> sorted = new ArrayList<>(queues);
        sorted.sort(Comparator.comparing(MessageQueue::getBrokerName).thenComparing(MessageQueue::getQueueId));
        return sorted;
    }
}
