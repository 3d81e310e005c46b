package compat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** A lite pull consumer takes one queue by assignment, polls all of it, seeks back, polls to the end again and commits. */
public final class LiteAssign implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultLitePullConsumer consumer = Clients.own(new DefaultLitePullConsumer(in.text("group")), in);
        consumer.setAutoCommit(false);
        consumer.start();
        try {
            List<MessageQueue> queues = Clients.queues(new HashSet<>(consumer.fetchMessageQueues(in.text("topic"))));
            MessageQueue queue = queues.get(in.number("queue"));
            List<MessageQueue> mine = new ArrayList<>();
            mine.add(queue);
            consumer.assign(mine);
            poll(consumer, in.number("all"), "at first", out);
            while (!consumer.poll(700).isEmpty()) {
                // until it is at rest: a seek among pulls on their way can lose against their answers inside the client
            }
            consumer.seekToBegin(queue);
            poll(consumer, in.number("all"), "from the beginning", out);
            consumer.seek(queue, in.number("from"));
            poll(consumer, in.number("count"), "after seek", out);
            consumer.commitSync();
            out.event("committed").put("offset", consumer.committed(queue))
                .put("offsetOfTimeZero", consumer.offsetForTimestamp(queue, 0L)).print();
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private static void poll(DefaultLitePullConsumer consumer, int count, String by, Out out) throws Exception {
        long end = System.currentTimeMillis() + 1000L * Clients.LONG;
        int have = 0;
        while (have < count && System.currentTimeMillis() < end) {
            for (MessageExt message : consumer.poll(500)) {
                out.received(by, message);
                have++;
            }
        }
    }
}
