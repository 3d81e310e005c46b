package compat;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * The old pull consumer reads every queue of a topic from its first offset to its last, in order. A broker may fill its queues
 * a little after it acknowledged a message: the round is repeated from where it ended until `count` messages came.
 */
public final class PullAll implements Scenario {
    private static final int PAUSE = 10;
    private int received;

    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPullConsumer consumer = Clients.pull(in);
        long end = System.currentTimeMillis() + 1000L * in.number("wait", Clients.LONG);
        try {
            Map<MessageQueue, Long> next = new LinkedHashMap<>();
            for (MessageQueue queue : Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic")))) {
                next.put(queue, consumer.minOffset(queue));
            }
            for (boolean first = true; first || wanted(in) && System.currentTimeMillis() < end; first = false) {
                if (!first) {
                    Thread.sleep(PAUSE);
                }
                for (MessageQueue queue : next.keySet()) {
                    next.put(queue, read(consumer, queue, next.get(queue), in, out));
                }
            }
            for (MessageQueue queue : next.keySet()) {
                out.event("queue").put("queue", Out.queue(queue)).put("min", consumer.minOffset(queue))
                    .put("max", consumer.maxOffset(queue)).print();
            }
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private boolean wanted(Request in) {
        return received < in.number("count", 0);
    }

    private long read(DefaultMQPullConsumer consumer, MessageQueue queue, long from, Request in, Out out) throws Exception {
        long max = consumer.maxOffset(queue);
        long next = from;
        while (next < max) {
            PullResult result = consumer.pull(queue, in.text("expression", "*"), next, in.number("atOnce", 32));
            out.event("pulled").put("queue", Out.queue(queue)).put("from", next)
                .put("status", result.getPullStatus().name()).put("next", result.getNextBeginOffset())
                .put("min", result.getMinOffset()).put("max", result.getMaxOffset())
                .put("count", result.getMsgFoundList() == null ? 0 : result.getMsgFoundList().size()).print();
            if (result.getPullStatus() == PullStatus.FOUND) {
                for (MessageExt message : result.getMsgFoundList()) {
                    out.received("pull", message);
                    received++;
                }
            }
            if (result.getNextBeginOffset() <= next) {
                return next;
            }
            next = result.getNextBeginOffset();
        }
        return next;
    }
}
