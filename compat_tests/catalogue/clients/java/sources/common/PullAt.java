package compat;

import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** One pull of one queue at each of the offsets asked for, past either end too: prints what the broker says of it. */
public final class PullAt implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPullConsumer consumer = Clients.pull(in);
        try {
            MessageQueue queue = Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic"))).get(in.number("queue"));
            for (String offset : in.all("offset")) {
                PullResult result = consumer.pull(queue, in.text("expression", "*"), Long.parseLong(offset), in.number("atOnce", 32));
                out.event("pulled").put("from", Long.parseLong(offset)).put("status", result.getPullStatus().name())
                    .put("next", result.getNextBeginOffset()).put("min", result.getMinOffset()).put("max", result.getMaxOffset())
                    .put("count", result.getMsgFoundList() == null ? 0 : result.getMsgFoundList().size()).print();
                if (result.getMsgFoundList() != null) {
                    for (MessageExt message : result.getMsgFoundList()) {
                        out.received("pull", message);
                    }
                }
            }
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }
}
