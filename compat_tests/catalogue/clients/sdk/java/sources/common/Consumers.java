package compat;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/** The consumers that stay open from one program to the next, by the names that requests give them. */
final class Consumers {
    private static final Map<String, Consumers> ALL = new ConcurrentHashMap<>();

    private final Closeable consumer;
    /** The messages that a simple consumer received, by their ids: each as it came last. */
    private final Map<String, MessageView> held = new ConcurrentHashMap<>();
    /** What a listener has taken since the last `Taken`; it is its own lock. */
    private final List<Lines.Event> unread;

    private Consumers(Closeable consumer, List<Lines.Event> unread) {
        this.consumer = consumer;
        this.unread = unread;
    }

    private static Consumers of(Request in) {
        Consumers found = ALL.get(in.text("name"));
        if (found == null) {
            throw new IllegalStateException("nothing is open by the name " + in.text("name"));
        }
        return found;
    }

    private SimpleConsumer simple() {
        return (SimpleConsumer) consumer;
    }

    /** Opens a simple consumer by a name; a receive of it waits `polling` seconds at most. */
    public static void openSimple(Request in, Out out) throws Exception {
        try {
            ALL.put(in.text("name"), new Consumers(
                Sdk.PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(Sdk.configuration(in))
                    .setConsumerGroup(in.text("group")).setAwaitDuration(Duration.ofSeconds(in.number("polling", 5)))
                    .setSubscriptionExpressions(Sdk.subscriptions(in)).build(), new ArrayList<>()));
            out.event("opened").print();
        } catch (Exception refused) {
            out.failure("refused", refused);
        }
    }

    /**
     * Receives until `count` messages came or `wait` seconds are over, at most `most` at a time, invisible to others for `invisible`
     * seconds; with `ack` 1 each is acknowledged. Each receive that brought nothing is printed, and each that failed.
     */
    public static void receive(Request in, Out out) throws Exception {
        Consumers open = of(in);
        int count = in.number("count", 1);
        Duration invisible = Duration.ofSeconds(in.number("invisible", 30));
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Sdk.LONG));
        for (int got = 0; got < count && System.nanoTime() < end;) {
            long began = System.nanoTime();
            int before = got;
            try {
                for (MessageView message : open.simple().receive(in.number("most", 32), invisible)) {
                    open.held.put(message.getMessageId().toString(), message);
                    out.message("received", message).print();
                    got++;
                    if (in.number("ack", 0) == 1) {
                        open.simple().ack(message);
                    }
                }
            } catch (Exception failed) {
                out.failure("failed", failed);
                Thread.sleep(200);
                continue;
            }
            if (got == before) {
                out.event("nothing").put("ms", (System.nanoTime() - began) / 1_000_000).print();
            }
        }
    }

    /** Acknowledges messages that a simple consumer holds, by their ids. */
    public static void ack(Request in, Out out) throws Exception {
        eachHeld(in, out, "acked", (consumer, message) -> consumer.ack(message));
    }

    /** Has messages that a simple consumer holds redelivered after `invisible` seconds. */
    public static void changeInvisible(Request in, Out out) throws Exception {
        Duration invisible = Duration.ofSeconds(in.number("invisible"));
        eachHeld(in, out, "changed", (consumer, message) -> consumer.changeInvisibleDuration(message, invisible));
    }

    private interface Act {
        void on(SimpleConsumer consumer, MessageView message) throws Exception;
    }

    private static void eachHeld(Request in, Out out, String event, Act act) {
        Consumers open = of(in);
        for (String id : in.all("id")) {
            try {
                act.on(open.simple(), open.held.get(id));
                out.event(event).put("msgId", id).print();
            } catch (Exception refused) {
                out.failure("refused", refused);
            }
        }
    }

    /**
     * Opens a push consumer by a name. A message's property `fail` says how many of its tries fail here, by a result or, where its
     * property `how` is "throw", by an exception; its property `slow` how many ms each takes.
     */
    public static void openPush(Request in, Out out) throws Exception {
        List<Lines.Event> unread = new ArrayList<>();
        Map<String, AtomicInteger> tries = new ConcurrentHashMap<>();
        try {
            ALL.put(in.text("name"), new Consumers(
                Sdk.PROVIDER.newPushConsumerBuilder().setClientConfiguration(Sdk.configuration(in))
                    .setConsumerGroup(in.text("group")).setSubscriptionExpressions(Sdk.subscriptions(in))
                    .setConsumptionThreadCount(in.number("threads", 8)).setMessageListener(message -> take(message, tries, unread, out))
                    .build(), unread));
            out.event("opened").print();
        } catch (Exception refused) {
            out.failure("refused", refused);
        }
    }

    private static ConsumeResult take(
            MessageView message, Map<String, AtomicInteger> counts, List<Lines.Event> unread, Out out) {
        try {
            Lines.Event event = out.message("received", message);
            synchronized (unread) {
                unread.add(event);
            }
            Thread.sleep(Long.parseLong(message.getProperties().getOrDefault("slow", "0")));
        } catch (Exception problem) {
            out.failure("crashed", problem);
        }
        int tries = counts.computeIfAbsent(message.getMessageId().toString(), id -> new AtomicInteger()).incrementAndGet();
        if (tries > Integer.parseInt(message.getProperties().getOrDefault("fail", "0"))) {
            return ConsumeResult.SUCCESS;
        }
        if ("throw".equals(message.getProperties().get("how"))) {
            throw new IllegalStateException("as its message asks for");
        }
        return ConsumeResult.FAILURE;
    }

    /** Prints what a push consumer has taken since the last time, once there are `count`, or `wait` seconds are over; then `settle` ms. */
    public static void taken(Request in, Out out) throws Exception {
        Consumers open = of(in);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Sdk.LONG));
        int got = open.printUnread();
        while (got < in.number("count", 0) && System.nanoTime() < end) {
            Thread.sleep(10);
            got += open.printUnread();
        }
        Thread.sleep(in.number("settle", 300));
        open.printUnread();
    }

    private int printUnread() {
        List<Lines.Event> all;
        synchronized (unread) {
            all = new ArrayList<>(unread);
            unread.clear();
        }
        all.forEach(Lines.Event::print);
        return all.size();
    }

    /** Closes the consumer of a name, and does not wait for its receives to end: the client does, for 20 s. */
    public static void close(Request in, Out out) throws Exception {
        Consumers found = ALL.remove(in.text("name"));
        if (found != null) {
            Thread leaving = new Thread(() -> {
                try {
                    found.consumer.close();
                } catch (IOException problem) {
                    problem.printStackTrace();
                }
            });
            leaving.setDaemon(true);
            leaving.start();
        }
    }
}
