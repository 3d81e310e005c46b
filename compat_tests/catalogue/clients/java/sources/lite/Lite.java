package compat;

import java.util.Collections;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The lite pull consumer. */
final class Lite {
    private Lite() {
    }

    /** Takes one queue by assignment, polls all of it, seeks back, polls to the end again and commits. */
    public static void liteAssign(Request in, Out out) throws Exception {
        DefaultLitePullConsumer consumer = consumer(in, in.text("group"));
        consumer.setAutoCommit(false);
        consumer.start();
        try {
            MessageQueue queue = Clients.queues(consumer.fetchMessageQueues(in.text("topic"))).get(in.number("queue"));
            consumer.assign(Collections.singletonList(queue));
            poll(consumer, in.number("all"), Clients.LONG, "at first", out);
            while (!consumer.poll(700).isEmpty()) {
                // until it is at rest: a seek among pulls on their way can lose against their answers inside the client
            }
            consumer.seekToBegin(queue);
            poll(consumer, in.number("all"), Clients.LONG, "from the beginning", out);
            consumer.seek(queue, in.number("from"));
            poll(consumer, in.number("count"), Clients.LONG, "after seek", out);
            consumer.commitSync();
            out.event("committed").put("offset", consumer.committed(queue))
                .put("offsetOfTimeZero", consumer.offsetForTimestamp(queue, 0L)).print();
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    /** Subscribes, polls `count` messages, commits and leaves. */
    public static void liteSubscribe(Request in, Out out) throws Exception {
        DefaultLitePullConsumer consumer = consumer(in, in.text("group"));
        consumer.subscribe(in.text("topic"), in.text("expression", "*"));
        consumer.setAutoCommit(false);
        polled(consumer, in, out);
    }

    /** A lite pull consumer and the old pull consumer, which brings its filter with each pull, read a topic by SQL. */
    public static void othersBySql(Request in, Out out) throws Exception {
        DefaultLitePullConsumer lite = consumer(in, in.text("group") + "_lite");
        lite.subscribe(in.text("topic"), MessageSelector.bySql(in.text("sql")));
        polled(lite, in, out);
        Clients.pulling(in, consumer -> {
            List<MessageQueue> queues = Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic")));
            // The client sends no filter before it knows the broker's version from the answer to a heartbeat.
            MQClientInstance client = consumer.getDefaultMQPullConsumerImpl().getRebalanceImpl().getmQClientFactory();
            client.updateTopicRouteInfoFromNameServer(in.text("topic"));
            client.sendHeartbeatToAllBrokerWithLock();
            for (MessageQueue queue : queues) {
                pull(consumer, queue, in, out);
            }
        });
    }

    private static DefaultLitePullConsumer consumer(Request in, String group) throws Exception {
        DefaultLitePullConsumer consumer = Clients.own(new DefaultLitePullConsumer(group, Clients.signer(in)), in);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        return consumer;
    }

    private static void polled(DefaultLitePullConsumer consumer, Request in, Out out) throws Exception {
        consumer.start();
        try {
            poll(consumer, in.number("count"), in.number("wait", Clients.LONG), "lite", out);
            out.received("lite", consumer.poll(in.number("settle", 300)));
            consumer.commitSync();
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private static void poll(DefaultLitePullConsumer consumer, int count, int seconds, String by, Out out) throws Exception {
        long end = System.currentTimeMillis() + 1000L * seconds;
        for (int have = 0; have < count && System.currentTimeMillis() < end; ) {
            List<MessageExt> messages = consumer.poll(500);
            out.received(by, messages);
            have += messages.size();
        }
    }

    private static void pull(DefaultMQPullConsumer consumer, MessageQueue queue, Request in, Out out) throws Exception {
        long end = consumer.maxOffset(queue);
        long next = 0;
        for (long before = -1; before < next && next < end; ) {
            PullResult result = consumer.pull(queue, MessageSelector.bySql(in.text("sql")), next, 32);
            out.received("pull", Pulls.found(result));
            before = next;
            next = Math.max(next, result.getNextBeginOffset());
        }
    }
}
