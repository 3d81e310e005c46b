package compat;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The old pull consumer. */
final class Pulls {
    private static final int PAUSE = 10;

    private Pulls() {
    }

    /**
     * Reads every queue of a topic from its first offset to its last, in order. A broker may fill its queues a little after it
     * acknowledged a message: the round is repeated from where it ended until `count` messages came.
     */
    public static void pullAll(Request in, Out out) throws Exception {
        Clients.pulling(in, consumer -> {
            long end = System.currentTimeMillis() + 1000L * in.number("wait", Clients.LONG);
            Map<MessageQueue, Long> next = new LinkedHashMap<>();
            for (MessageQueue queue : Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic")))) {
                next.put(queue, consumer.minOffset(queue));
            }
            int received = readRound(consumer, next, in, out);
            while (received < in.number("count", 0) && System.currentTimeMillis() < end) {
                Thread.sleep(PAUSE);
                received += readRound(consumer, next, in, out);
            }
            for (MessageQueue queue : next.keySet()) {
                out.event("queue").put("queue", Out.queue(queue)).put("min", consumer.minOffset(queue))
                    .put("max", consumer.maxOffset(queue)).print();
            }
        });
    }

    /** How many messages there were from the offsets in `next` on, which are moved behind them. */
    private static int readRound(DefaultMQPullConsumer consumer, Map<MessageQueue, Long> next, Request in, Out out) throws Exception {
        int received = 0;
        for (MessageQueue queue : next.keySet()) {
            long offset = next.get(queue);
            for (long max = consumer.maxOffset(queue), before = -1; before < offset && offset < max; ) {
                PullResult result = pulled(consumer, queue, offset, in, out);
                received += found(result).size();
                before = offset;
                offset = Math.max(offset, result.getNextBeginOffset());
            }
            next.put(queue, offset);
        }
        return received;
    }

    private static PullResult pulled(DefaultMQPullConsumer consumer, MessageQueue queue, long offset, Request in, Out out) throws Exception {
        PullResult result = consumer.pull(queue, in.text("expression", "*"), offset, in.number("atOnce", 32));
        out.event("pulled").put("queue", Out.queue(queue)).put("from", offset).put("status", result.getPullStatus().name())
            .put("next", result.getNextBeginOffset()).put("min", result.getMinOffset()).put("max", result.getMaxOffset())
            .put("count", found(result).size()).print();
        out.received("pull", found(result));
        return result;
    }

    static List<MessageExt> found(PullResult result) {
        return result.getMsgFoundList() == null ? Collections.emptyList() : result.getMsgFoundList();
    }

    /** One pull of one queue at each of the offsets of the request, past either end too: prints what the broker says of it. */
    public static void pullAt(Request in, Out out) throws Exception {
        Clients.pulling(in, consumer -> {
            MessageQueue queue = Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic"))).get(in.number("queue"));
            for (String offset : in.all("offset")) {
                pulled(consumer, queue, Long.parseLong(offset), in, out);
            }
        });
    }

    /** pullBlockIfNotFound at a queue's end: once nothing comes until the broker answers, once a message comes
     ** meanwhile. */
    public static void pullBlocking(Request in, Out out) throws Exception {
        DefaultMQPullConsumer consumer = Clients.own(new DefaultMQPullConsumer(in.text("group")), in);
        consumer.setBrokerSuspendMaxTimeMillis(in.number("suspend"));
        consumer.start();
        try {
            Clients.producing(in, producer -> {
                MessageQueue queue = Clients.queues(consumer.fetchSubscribeMessageQueues(in.text("topic"))).get(0);
                pullBlocking(consumer, queue, consumer.maxOffset(queue), System.nanoTime(), out, "without result");
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
                pullBlocking(consumer, queue, next, began, out, "woken");
                sender.join();
            });
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private static void pullBlocking(
            DefaultMQPullConsumer consumer, MessageQueue queue, long offset, long began, Out out, String how) throws Exception {
        PullResult result = consumer.pullBlockIfNotFound(queue, "*", offset, 32);
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
        out.event("pulled").put("how", how).put("status", result.getPullStatus().name()).put("took", took)
            .put("next", result.getNextBeginOffset()).print();
        out.received("pull", found(result));
    }

    /** Offsets of a queue: first, last and by time; what the group has consumed, stored by one client, read by another. */
    public static void pullOffsets(Request in, Out out) throws Exception {
        Clients.pulling(in, first -> {
            MessageQueue queue = Clients.queues(first.fetchSubscribeMessageQueues(in.text("topic"))).get(0);
            out.event("offsets").put("min", first.minOffset(queue)).put("max", first.maxOffset(queue))
                .put("earliestStoreTime", first.earliestMsgStoreTime(queue))
                .put("atZero", first.searchOffset(queue, 0)).put("later", first.searchOffset(queue, System.currentTimeMillis() + 60_000))
                .put("atTime", first.searchOffset(queue, Long.parseLong(in.text("time", "0"))))
                .put("stored", first.fetchConsumeOffset(queue, true)).print();
            if (!in.all("store").isEmpty()) {
                first.updateConsumeOffset(queue, in.number("store"));
                first.getDefaultMQPullConsumerImpl().getOffsetStore().persist(queue);
            }
        });
        Clients.pulling(in, second -> {
            MessageQueue queue = Clients.queues(second.fetchSubscribeMessageQueues(in.text("topic"))).get(0);
            out.event("stored").put("offset", second.fetchConsumeOffset(queue, true)).print();
        });
    }
}
