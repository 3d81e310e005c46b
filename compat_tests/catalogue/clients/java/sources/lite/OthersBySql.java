package compat;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** A lite pull consumer and the old pull consumer, which brings its filter with each pull, read a topic by SQL. */
public final class OthersBySql implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        lite(in, out);
        DefaultMQPullConsumer consumer = Clients.pull(in);
        try {
            List<MessageQueue> queues = Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic")));
            // The client sends no filter before the answer to a heartbeat told it of the broker's version.
            MQClientInstance client = consumer.getDefaultMQPullConsumerImpl().getRebalanceImpl().getmQClientFactory();
            client.updateTopicRouteInfoFromNameServer(in.text("topic"));
            client.sendHeartbeatToAllBrokerWithLock();
            for (MessageQueue queue : queues) {
                pull(consumer, queue, in, out);
            }
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private static void lite(Request in, Out out) throws Exception {
        DefaultLitePullConsumer consumer = Clients.own(new DefaultLitePullConsumer(in.text("group") + "_lite"), in);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(in.text("topic"), MessageSelector.bySql(in.text("sql")));
        consumer.start();
        try {
            long end = System.currentTimeMillis() + 1000L * in.number("wait", Clients.LONG);
            int count = 0;
            while (count < in.number("count") && System.currentTimeMillis() < end) {
                for (MessageExt message : consumer.poll(500)) {
                    out.received("lite", message);
                    count++;
                }
            }
            for (MessageExt message : consumer.poll(in.number("settle", 300))) {
                out.received("lite", message);
            }
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private static void pull(DefaultMQPullConsumer consumer, MessageQueue queue, Request in, Out out) throws Exception {
        long end = consumer.maxOffset(queue);
        long next = 0;
        while (next < end) {
            PullResult result = consumer.pull(queue, MessageSelector.bySql(in.text("sql")), next, 32);
            if (result.getPullStatus() == PullStatus.FOUND) {
                for (MessageExt message : result.getMsgFoundList()) {
                    out.received("pull", message);
                }
            }
            if (result.getNextBeginOffset() <= next) {
                return;
            }
            next = result.getNextBeginOffset();
        }
    }
}
