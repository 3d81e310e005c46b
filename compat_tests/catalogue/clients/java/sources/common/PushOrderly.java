package compat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/** A push consumer with an orderly listener: prints each message, and whether two threads ever held one queue at once. */
public final class PushOrderly implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        Inbox inbox = new Inbox(out);
        Map<Integer, AtomicInteger> inside = new ConcurrentHashMap<>();
        AtomicInteger overlaps = new AtomicInteger();
        consumer.subscribe(in.text("topic"), "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            MessageExt first = messages.get(0);
            AtomicInteger holders = inside.computeIfAbsent(first.getQueueId(), queue -> new AtomicInteger());
            if (holders.incrementAndGet() > 1) {
                overlaps.incrementAndGet();
            }
            try {
                Thread.sleep(ThreadLocalRandom.current().nextInt(5));
            } catch (InterruptedException leaving) {
                return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            }
            inbox.take("orderly", messages);
            holders.decrementAndGet();
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        try {
            inbox.await(in);
            out.event("overlaps").put("count", overlaps.get()).print();
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }
}
