package compat;

import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** pullBlockIfNotFound at a queue's end: once nothing comes and the broker gives up, once a message comes meanwhile. */
public final class PullBlocking implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPullConsumer consumer = Clients.own(new DefaultMQPullConsumer(in.text("group")), in);
        consumer.setBrokerSuspendMaxTimeMillis(in.number("suspend"));
        consumer.start();
        DefaultMQProducer producer = Clients.producer(in);
        try {
            MessageQueue queue = Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic"))).get(0);
            pull(consumer, queue, consumer.maxOffset(queue), System.nanoTime(), out, "without result");
            consumer.setBrokerSuspendMaxTimeMillis(20_000);
            Thread sender = new Thread(() -> {
                try {
                    Thread.sleep(in.number("after"));
                    out.sent(producer.send(Messages.of(in).get(0).message, queue));
                } catch (Exception problem) {
                    out.failure("crashed", problem);
                }
            });
            long next = consumer.maxOffset(queue);
            long began = System.nanoTime();
            sender.start();
            pull(consumer, queue, next, began, out, "woken");
            sender.join();
        } finally {
            Clients.leave(producer::shutdown);
            Clients.leave(consumer::shutdown);
        }
    }

    private static void pull(DefaultMQPullConsumer consumer, MessageQueue queue, long offset, long began, Out out, String how)
            throws Exception {
        PullResult result = consumer.pullBlockIfNotFound(queue, "*", offset, 32);
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
        out.event("pulled").put("how", how).put("status", result.getPullStatus().name()).put("took", took)
            .put("next", result.getNextBeginOffset()).print();
        if (result.getMsgFoundList() != null) {
            for (MessageExt message : result.getMsgFoundList()) {
                out.received("pull", message);
            }
        }
    }
}
