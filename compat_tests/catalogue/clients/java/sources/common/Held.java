package compat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/** A push consumer that outlives the program that started it, and what it has received. Later programs find it by its name. */
final class Held {
    private static final Map<String, Held> ALL = new ConcurrentHashMap<>();
    private static final Map<String, List<DefaultMQPushConsumer>> MEMBERS = new HashMap<>();

    private final DefaultMQPushConsumer consumer;
    private volatile boolean takes;
    private final List<MessageExt> received = new ArrayList<>();

    private Held(DefaultMQPushConsumer consumer, boolean takes) {
        this.consumer = consumer;
        this.takes = takes;
    }

    /**
     * Starts a push consumer that stays: `kind` is concurrent, orderly or broadcasting. The bodies "throw", "later" and "null" say what
     * its listener does; with `takes` 0 an orderly one takes only the messages "queue-0" until a `Collect` has it take more.
     */
    public static void join(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        consumer.setSuspendCurrentQueueTimeMillis(100);
        Held held = new Held(consumer, in.number("takes", 1) == 1);
        ALL.put(in.text("name"), held);
        String kind = in.text("kind", "concurrent");
        if (kind.equals("broadcasting")) {
            Shim.broadcasting(consumer);
        }
        if (kind.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                if (!held.takes && !text(messages).endsWith("-0")) {
                    return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
                }
                held.add(of(in.text("topic"), messages));
                return react(messages, ConsumeOrderlyStatus.SUCCESS, ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                held.add(of(in.text("topic"), messages));
                return react(messages, ConsumeConcurrentlyStatus.CONSUME_SUCCESS, ConsumeConcurrentlyStatus.RECONSUME_LATER);
            });
        }
        consumer.start();
        out.event("started").put("clientId", consumer.buildMQClientId()).print();
    }

    /** What a consumer that stays has received since the last time, its offsets committed; from now on it takes all. */
    public static void collect(Request in, Out out) throws Exception {
        Held held = ALL.get(in.text("name"));
        held.takes = in.number("takes", 1) == 1;
        out.received(in.text("name"), held.collected(in.number("count"), in.number("wait", Clients.LONG), in.number("settle", 300)));
        held.consumer.getDefaultMQPushConsumerImpl().persistConsumerOffset();
    }

    /** Ends all consumers that stay. */
    public static void leaveAll(Request in, Out out) throws Exception {
        Clients.leaveAll(ALL.values().stream().map(held -> held.consumer).collect(Collectors.toList()));
        ALL.clear();
    }

    /**
     * Push consumers of one group that stay on line between requests: `member` (several) is form-encoded too, with its `name`,
     * which ends its client id, its `topic`s and their `expression`s. Without members those of the group leave.
     */
    public static void groupMembers(Request in, Out out) throws Exception {
        List<DefaultMQPushConsumer> members = MEMBERS.computeIfAbsent(in.text("group"), group -> new ArrayList<>());
        if (in.all("member").isEmpty()) {
            Clients.leaveAll(members);
            members.clear();
        }
        for (String member : in.all("member")) {
            Map<String, List<String>> fields = Request.decode(member);
            String name = fields.get("name").get(0);
            DefaultMQPushConsumer consumer = Clients.push(in);
            consumer.setInstanceName(name);
            for (int i = 0; i < fields.get("topic").size(); i++) {
                consumer.subscribe(fields.get("topic").get(i), fields.get("expression").get(i));
            }
            consumer.registerMessageListener(new Inbox(out).listener(name));
            consumer.start();
            members.add(consumer);
        }
    }

    private synchronized void add(List<MessageExt> messages) {
        received.addAll(messages);
        notifyAll();
    }

    /** What came since the last call, once it is `wanted` messages and no more come for `settle` ms, or the seconds are over. */
    private synchronized List<MessageExt> collected(int wanted, int seconds, int settle) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (received.size() < wanted && System.nanoTime() < end) {
            wait(20);
        }
        for (int before = -1; before < received.size(); ) {
            before = received.size();
            wait(settle);
        }
        List<MessageExt> found = new ArrayList<>(received);
        received.clear();
        return found;
    }

    private static <S> S react(List<MessageExt> messages, S success, S later) {
        String body = text(messages);
        if (body.equals("throw")) {
            throw new IllegalStateException("thrown on purpose");
        }
        return body.equals("null") ? null : body.equals("later") ? later : success;
    }

    /** Those of the topic it subscribes to: an administrator may have others consumed directly. */
    private static List<MessageExt> of(String topic, List<MessageExt> messages) {
        return messages.stream().filter(message -> topic.equals(message.getTopic())).collect(Collectors.toList());
    }

    private static String text(List<MessageExt> messages) {
        return new String(messages.get(0).getBody(), StandardCharsets.UTF_8);
    }
}
