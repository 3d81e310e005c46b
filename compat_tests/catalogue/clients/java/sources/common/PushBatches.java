package compat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A push consumer takes up to `batch` messages at once, of pulls of up to `pull`; prints how many its listener got each time. An
 * orderly one takes its first messages only when more than `behind` others have been pulled.
 */
public final class PushBatches implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        consumer.setPullBatchSize(in.number("pull"));
        Shim.pullBytes(consumer, 1 << 20);
        Inbox inbox = new Inbox(out);
        consumer.subscribe(in.text("topic"), "*");
        if (in.text("mode").equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                if (inbox.count() == 0) {
                    await(consumer, messages.size() + in.number("behind", -1));
                }
                take(messages, inbox, out);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                take(messages, inbox, out);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        try {
            inbox.await(in);
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private static void await(DefaultMQPushConsumer consumer, int pulled) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Clients.LONG);
        while (pulled(consumer) <= pulled && System.nanoTime() < end) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
    }

    private static long pulled(DefaultMQPushConsumer consumer) {
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().values().stream()
            .mapToLong(queue -> queue.getMsgCount().get()).sum();
    }

    private static void take(List<MessageExt> messages, Inbox inbox, Out out) {
        out.event("batch").put("size", messages.size()).print();
        inbox.take("push", messages);
    }
}
