package compat;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Orderly consumers of one group join and leave, as `change` says ("+a", "-a", or "away": wait until the endpoint was away and is
 * back) every `pause` ms, while messages of several keys are sent, numbered a key, each when the one before is acknowledged.
 * Prints when a listener begins and ends a message, in the order in which that happened. Of each key every `failing`th message
 * is suspended at the first attempt.
 */
final class OrderedGroup {
    private static final long LONGEST = 120_000;
    private final Map<String, DefaultMQPushConsumer> members = new LinkedHashMap<>();
    private final Set<String> failed = ConcurrentHashMap.newKeySet();
    private final Set<String> done = ConcurrentHashMap.newKeySet();
    private volatile boolean sending = true;
    private volatile int sent;
    private volatile boolean wasAway;

    public static void orderedGroup(Request in, Out out) throws Exception {
        new OrderedGroup().run(in, out);
    }

    private void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        producer.setSendMsgTimeout(3_000);
        Thread sender = new Thread(() -> send(producer, in, out), "sender");
        try {
            for (String change : in.all("change")) {
                apply(change, in, out);
                if (!sender.isAlive()) {
                    sender.start();
                }
                Thread.sleep(in.number("pause"));
            }
            sending = false;
            sender.join();
            long end = System.currentTimeMillis() + LONGEST;
            while (done.size() < sent && System.currentTimeMillis() < end) {
                Thread.sleep(20);
            }
            out.event("total").put("sent", sent).put("done", done.size()).print();
        } finally {
            sending = false;
            Clients.leave(producer::shutdown);
            Clients.leaveAll(members.values());
        }
    }

    private void apply(String change, Request in, Out out) throws Exception {
        String name = change.substring(1);
        if (change.startsWith("+")) {
            DefaultMQPushConsumer consumer = Clients.subscribed(in);
            consumer.setAwaitTerminationMillisWhenShutdown(5_000); // else it gives its locks back while a listener still runs
            consumer.registerMessageListener(
                (MessageListenerOrderly) (messages, context) -> take(name, messages.get(0), context, in, out));
            consumer.start();
            members.put(name, consumer);
        } else if (change.startsWith("-")) {
            Clients.leave(members.remove(name)::shutdown);
        } else {
            for (long end = System.currentTimeMillis() + LONGEST; !wasAway && System.currentTimeMillis() < end; ) {
                Thread.sleep(20);
            }
        }
        out.event("change").put("change", change).put("sent", sent).put("done", done.size()).print();
    }

    private void send(DefaultMQProducer producer, Request in, Out out) {
        MessageQueueSelector byKey = (queues, message, key) -> queues.get((Integer) key % queues.size());
        for (int number = 0; sending; number++) {
            for (int key = 0; key < in.number("keys"); key++) {
                String text = key + "-" + number;
                Message message = new Message(in.text("topic"), text.getBytes(StandardCharsets.UTF_8));
                message.putUserProperty("__SHARDINGKEY", "key" + key);
                boolean away = false;
                for (; !acknowledged(producer, message, byKey, key); away = true) {
                    out.event("again").put("text", text).print();
                }
                wasAway |= away;
                sent++;
            }
        }
    }

    private static boolean acknowledged(DefaultMQProducer producer, Message message, MessageQueueSelector byKey, int key) {
        boolean stored = true;
        try {
            producer.send(message, byKey, key);
        } catch (Exception gone) { // while the endpoint is away
            stored = false;
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(stored ? 2 : 100));
        return stored;
    }

    private ConsumeOrderlyStatus take(String by, MessageExt message, ConsumeOrderlyContext context, Request in, Out out) {
        String text = new String(message.getBody(), StandardCharsets.UTF_8);
        int number = Integer.parseInt(text.substring(text.indexOf('-') + 1));
        print(out, "begin", by, message, text);
        boolean fails = number % in.number("failing") == 1 && failed.add(text);
        print(out, fails ? "suspend" : "end", by, message, text);
        if (fails) {
            context.setSuspendCurrentQueueTimeMillis(20);
            return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
        }
        done.add(text);
        return ConsumeOrderlyStatus.SUCCESS;
    }

    private static void print(Out out, String event, String by, MessageExt message, String text) {
        out.event(event).put("by", by).put("queue", message.getQueueId()).put("offset", message.getQueueOffset())
            .put("text", text).put("at", System.currentTimeMillis()).print();
    }
}
