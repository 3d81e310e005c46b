package compat;

import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.common.message.MessageQueue;

/** The old pull consumer's offsets: first, last and by time; what the group has consumed, stored by one client, read by another. */
public final class PullOffsets implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        MessageQueue queue;
        DefaultMQPullConsumer first = Clients.pull(in);
        try {
            queue = Clients.queues(first.fetchSubscribeMessageQueues(in.text("topic"))).get(0);
            out.event("offsets").put("min", first.minOffset(queue)).put("max", first.maxOffset(queue))
                .put("earliestStoreTime", first.earliestMsgStoreTime(queue))
                .put("atZero", first.searchOffset(queue, 0)).put("later", first.searchOffset(queue, System.currentTimeMillis() + 60_000))
                .put("atTime", first.searchOffset(queue, Long.parseLong(in.text("time", "0"))))
                .put("stored", first.fetchConsumeOffset(queue, true)).print();
            if (!in.all("store").isEmpty()) {
                first.updateConsumeOffset(queue, in.number("store"));
                first.getDefaultMQPullConsumerImpl().getOffsetStore().persist(queue);
            }
        } finally {
            Clients.leave(first::shutdown);
        }
        DefaultMQPullConsumer second = Clients.pull(in);
        try {
            out.event("stored").put("offset", second.fetchConsumeOffset(queue, true)).print();
        } finally {
            Clients.leave(second::shutdown);
        }
    }
}
