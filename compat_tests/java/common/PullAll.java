package compat;

import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The old pull consumer reads every queue of a topic from its first offset to its last, in order. */
public final class PullAll implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPullConsumer consumer = Clients.pull(in);
        try {
            for (MessageQueue queue : Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic")))) {
                long max = consumer.maxOffset(queue);
                out.event("queue").put("queue", Out.queue(queue)).put("min", consumer.minOffset(queue)).put("max", max).print();
                long next = consumer.minOffset(queue);
                while (next < max) {
                    PullResult result = consumer.pull(queue, in.text("expression", "*"), next, in.number("atOnce", 32));
                    out.event("pulled").put("queue", Out.queue(queue)).put("from", next)
                        .put("status", result.getPullStatus().name()).put("next", result.getNextBeginOffset())
                        .put("min", result.getMinOffset()).put("max", result.getMaxOffset())
                        .put("count", result.getMsgFoundList() == null ? 0 : result.getMsgFoundList().size()).print();
                    if (result.getPullStatus() == PullStatus.FOUND) {
                        for (MessageExt message : result.getMsgFoundList()) {
                            out.received("pull", message);
                        }
                    }
                    if (result.getNextBeginOffset() <= next) {
                        break;
                    }
                    next = result.getNextBeginOffset();
                }
            }
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }
}
