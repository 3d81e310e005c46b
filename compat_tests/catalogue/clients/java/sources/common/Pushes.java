package compat;

import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Push consumers whose listeners take messages, and leave. */
final class Pushes {
    private static final byte[] PLAIN = "plain".repeat(50).getBytes(StandardCharsets.UTF_8);
    private static final long SECOND = 1000;
    private static final long MARGIN = 100;

    private Pushes() {
    }

    /** A concurrent listener takes `count` messages. */
    public static void pushConcurrent(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        Inbox inbox = new Inbox(out);
        consumer.registerMessageListener(inbox.listener("push"));
        Clients.consuming(consumer, started -> {
            out.event("started").print();
            inbox.await(in);
        });
    }

    /** An orderly listener: prints each message, and whether two threads ever held one queue at once. */
    public static void pushOrderly(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        Inbox inbox = new Inbox(out);
        Map<Integer, AtomicInteger> inside = new ConcurrentHashMap<>();
        AtomicInteger overlaps = new AtomicInteger();
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            AtomicInteger holders = inside.computeIfAbsent(messages.get(0).getQueueId(), queue -> new AtomicInteger());
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
        Clients.consuming(consumer, started -> {
            inbox.await(in);
            out.event("overlaps").put("count", overlaps.get()).print();
        });
    }

    /** Two broadcasting consumers of one group, then the messages: each consumer gets them all. */
    public static void pushBroadcast(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        try {
            for (String name : new String[] {"a", "b"}) {
                DefaultMQPushConsumer consumer = Clients.subscribed(in);
                Shim.broadcasting(consumer);
                consumer.registerMessageListener(inbox.listener(name));
                consumer.start();
                consumers.add(consumer);
            }
            Sends.sendSync(in, out);
            inbox.await(2 * Messages.of(in).size(), in.number("wait", Clients.LONG), 300);
        } finally {
            Clients.leaveAll(consumers);
        }
    }

    /**
     * A consumer takes up to `batch` messages at once, of pulls of up to `pull`; prints how many its listener got each time. An
     * orderly one takes its first messages only when more than `behind` others have been pulled.
     */
    public static void pushBatches(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        consumer.setPullBatchSize(in.number("pull"));
        Shim.pullBytes(consumer, 1 << 20);
        Inbox inbox = new Inbox(out);
        if (in.text("mode").equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                if (inbox.count() == 0) {
                    awaitPulled(consumer, messages.size() + in.number("behind", -1));
                }
                takeBatch(messages, inbox, out);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                takeBatch(messages, inbox, out);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        Clients.consuming(consumer, started -> inbox.await(in));
    }

    private static void awaitPulled(DefaultMQPushConsumer consumer, int wanted) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Clients.LONG);
        while (pulled(consumer) <= wanted && System.nanoTime() < end) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
    }

    private static long pulled(DefaultMQPushConsumer consumer) {
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().values().stream()
            .mapToLong(queue -> queue.getMsgCount().get()).sum();
    }

    private static void takeBatch(List<MessageExt> messages, Inbox inbox, Out out) {
        out.event("batch").put("size", messages.size()).print();
        inbox.take("push", messages);
    }

    /** A waiting consumer is sent delayed messages, while another producer sends plain ones to the topic `busy` all the time. */
    public static void pushDelayed(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        Inbox inbox = new Inbox(out);
        consumer.registerMessageListener(inbox.listener("push"));
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger busy = new AtomicInteger();
        Clients.consuming(consumer, started -> Clients.producing(in, producer -> {
            Thread other = new Thread(() -> keepBusy(in, over, busy), "busy");
            other.start();
            try {
                for (Messages.Wanted wanted : Messages.of(in)) {
                    out.sent(producer.send(wanted.message));
                }
                inbox.await(in);
            } finally {
                over.set(true);
                other.join();
                out.event("busy").put("sent", busy.get()).print();
            }
        }));
    }

    private static void keepBusy(Request in, AtomicBoolean over, AtomicInteger sent) {
        try {
            Clients.producing(in, producer -> {
                while (!over.get()) {
                    producer.send(new Message(in.text("busy"), PLAIN));
                    sent.incrementAndGet();
                }
            });
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
    }

    /** A waiting consumer is sent messages one at a time: prints how long each took from the send to the listener. */
    public static void pushWhileSending(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        Inbox inbox = new Inbox(out);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                out.event("delay").put("ms", System.currentTimeMillis() - message.getBornTimestamp()).print();
            }
            inbox.take("push", messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        Clients.consuming(consumer, started -> Clients.producing(in, producer -> {
            Thread.sleep(in.number("idle", 1500)); // the pulls are held by the broker by now
            List<Messages.Wanted> all = Messages.of(in);
            for (int i = 0; i < all.size(); i++) {
                out.sent(producer.send(all.get(i).message));
                inbox.await(i + 1, in.number("wait", Clients.LONG), 0);
            }
            inbox.await(all.size(), 1, 100);
        }));
    }

    /**
     * Consumers filter one topic by SQL, the n-th of the expressions `sql` in the group `group`_n; those refused at their start say
     * so. Once all are started, messages are sent, if there are any. `count` messages are awaited in all.
     */
    public static void pushSql(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        try {
            for (String sql : in.all("sql")) {
                consumers.add(filtering(in, out, inbox, sql, consumers.size()));
            }
            if (!in.all("message").isEmpty()) {
                Clients.producing(in, producer -> {
                    for (Messages.Wanted wanted : Messages.of(in)) {
                        producer.send(wanted.message);
                    }
                });
            }
            inbox.await(in);
        } finally {
            List<Thread> leaving = new ArrayList<>();
            for (DefaultMQPushConsumer consumer : consumers) {
                leaving.add(new Thread(consumer::shutdown));
            }
            leaving.forEach(Thread::start);
            for (Thread each : leaving) {
                each.join(400);
            }
        }
    }

    private static DefaultMQPushConsumer filtering(Request in, Out out, Inbox inbox, String sql, int number) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        consumer.setConsumerGroup(in.text("group") + "_" + number);
        consumer.subscribe(in.text("topic"), MessageSelector.bySql(sql));
        consumer.registerMessageListener(inbox.listener(String.valueOf(number)));
        try {
            consumer.start();
        } catch (MQClientException refused) {
            out.failure("refused", refused);
        }
        return consumer;
    }

    /**
     * New groups that begin at the first message, at the last and at a time. Two messages a queue are sent before a second begins
     * ("early"), which is that time, two after it ("late"), and two once all groups have found where they begin ("new").
     */
    public static void consumeFrom(Request in, Out out) throws Exception {
        Map<String, DefaultMQPushConsumer> consumers = new LinkedHashMap<>();
        Map<String, Inbox> inboxes = new LinkedHashMap<>();
        try {
            Clients.producing(in, producer -> {
                List<MessageQueue> queues = producer.fetchPublishMessageQueues(in.text("topic"));
                sendTwoEach(producer, queues, "early");
                long boundary = (System.currentTimeMillis() + MARGIN) / SECOND * SECOND + SECOND;
                Thread.sleep(boundary + MARGIN - System.currentTimeMillis());
                sendTwoEach(producer, queues, "late");
                for (String where : new String[] {"FIRST_OFFSET", "LAST_OFFSET", "TIMESTAMP"}) {
                    Inbox inbox = new Inbox(out);
                    inboxes.put(where, inbox);
                    consumers.put(where, beginning(in, where, boundary, inbox));
                }
                for (DefaultMQPushConsumer consumer : consumers.values()) {
                    while (consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
                        .filter(queues::contains).count() < queues.size()) {
                        Thread.sleep(20);
                    }
                }
                sendTwoEach(producer, queues, "new");
                for (Map.Entry<String, Inbox> each : inboxes.entrySet()) {
                    each.getValue().await(in.number(each.getKey()), in.number("wait", Clients.LONG), 100);
                }
            });
        } finally {
            Clients.leaveAll(consumers.values());
        }
    }

    private static DefaultMQPushConsumer beginning(Request in, String where, long time, Inbox inbox) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        consumer.setConsumerGroup(in.text("group") + "_" + where);
        consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf("CONSUME_FROM_" + where));
        consumer.setConsumeTimestamp(new SimpleDateFormat("yyyyMMddHHmmss").format(new Date(time)));
        consumer.registerMessageListener(inbox.listener(where));
        consumer.start();
        return consumer;
    }

    private static void sendTwoEach(DefaultMQProducer producer, List<MessageQueue> queues, String when) throws Exception {
        for (int i = 0; i < 2; i++) {
            for (MessageQueue queue : queues) {
                String body = when + " " + queue.getQueueId() + " " + i;
                producer.send(new Message(queue.getTopic(), body.getBytes(StandardCharsets.UTF_8)), queue);
            }
        }
    }
}
