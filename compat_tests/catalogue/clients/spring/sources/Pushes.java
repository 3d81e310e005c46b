package compat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.rocketmq.common.message.MessageExt;

/** Annotated listeners take messages, and leave. */
final class Pushes {
    /** The template's client keeps traces back for up to 5 s, in 5.x, and loses them if it ends before. */
    private static final long KEPT_BACK = 6_000;

    private Pushes() {
    }

    private static Consumer<MessageExt> taking(Inbox inbox, String by) {
        return message -> inbox.take(by, Collections.singletonList(message));
    }

    /** A listener takes `count` messages. */
    public static void pushConcurrent(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        try (SpringClient client = SpringClient.started(in, Map.of(), taking(inbox, "push"), Listeners.Concurrent.class)) {
            out.event("started").print();
            inbox.await(in);
        }
    }

    /** Two applications with a broadcasting listener of one group, then the messages: each gets them all. */
    public static void pushBroadcast(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        try (SpringClient a = SpringClient.started(in, Map.of(), taking(inbox, "a"), Listeners.Broadcasting.class);
                SpringClient b = SpringClient.started(in, Map.of(), taking(inbox, "b"), Listeners.Broadcasting.class)) {
            List<Wishes.Wish> all = Wishes.of(in);
            for (Wishes.Wish wish : all) {
                out.sent(wish.send(a.template()));
            }
            inbox.await(2 * all.size(), Clients.LONG, 300);
        }
    }

    /** An orderly listener: prints each message, and whether two threads ever held one queue at once. */
    public static void pushOrderly(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        Map<Integer, AtomicInteger> inside = new ConcurrentHashMap<>();
        AtomicInteger overlaps = new AtomicInteger();
        Consumer<MessageExt> take = message -> {
            AtomicInteger holders = inside.computeIfAbsent(message.getQueueId(), queue -> new AtomicInteger());
            if (holders.incrementAndGet() > 1) {
                overlaps.incrementAndGet();
            }
            try {
                Thread.sleep(ThreadLocalRandom.current().nextInt(5));
            } catch (InterruptedException leaving) {
                throw new IllegalStateException(leaving);
            }
            inbox.take("orderly", Collections.singletonList(message));
            holders.decrementAndGet();
        };
        try (SpringClient client = SpringClient.started(in, Map.of(), take, Listeners.Orderly.class)) {
            inbox.await(in);
            out.event("overlaps").put("count", overlaps.get()).print();
        }
    }

    /**
     * A listener that fails a message as often as its property `fail` says, by an exception: the only way that it has. The delay level
     * of a retry, and how long an orderly listener suspends its queue, are its annotation's.
     */
    public static void pushFailing(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        Consumer<MessageExt> take = message -> {
            inbox.take("push", Collections.singletonList(message));
            String times = message.getUserProperty("fail");
            if (times != null && message.getReconsumeTimes() < Integer.parseInt(times)) {
                throw new IllegalStateException("as asked for");
            }
        };
        String mode = in.text("mode", "concurrent");
        Class<?> listener = mode.equals("orderly") ? Listeners.Orderly.class
            : mode.equals("broadcast") ? Listeners.Broadcasting.class : Listeners.Concurrent.class;
        try (SpringClient client = SpringClient.started(in, Map.of(), take, listener)) {
            inbox.await(in);
        }
    }

    /**
     * Listeners filter one topic by SQL, the n-th of the expressions `sql` in the group `group`_n; those refused at their start say so.
     * Once all are started, messages are sent, if there are any. `count` messages are awaited in all.
     */
    public static void pushSql(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        List<SpringClient> clients = new ArrayList<>();
        try {
            int number = 0;
            for (String sql : in.all("sql")) {
                Map<String, Object> own = Map.of("compat.group", in.text("group") + "_" + number, "compat.expression", sql);
                try {
                    clients.add(SpringClient.started(in, own, taking(inbox, String.valueOf(number)), Listeners.Sql.class));
                } catch (RuntimeException refused) {
                    Wishes.refused(out, refused);
                }
                number++;
            }
            if (!in.all("message").isEmpty()) {
                try (SpringClient client = SpringClient.sending(in)) {
                    for (Wishes.Wish wish : Wishes.of(in)) {
                        wish.send(client.template());
                    }
                }
            }
            inbox.await(in);
        } finally {
            clients.forEach(SpringClient::close);
        }
    }

    /** A waiting listener is sent messages one at a time: prints how long each took from the send to the listener. */
    public static void pushWhileSending(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        Consumer<MessageExt> take = message -> {
            out.event("delay").put("ms", System.currentTimeMillis() - message.getBornTimestamp()).print();
            inbox.take("push", Collections.singletonList(message));
        };
        try (SpringClient client = SpringClient.started(in, Map.of(), take, Listeners.Concurrent.class)) {
            Thread.sleep(in.number("idle", 1500)); // the pulls are held by the broker by now
            List<Wishes.Wish> all = Wishes.of(in);
            for (int i = 0; i < all.size(); i++) {
                out.sent(all.get(i).send(client.template()));
                inbox.await(i + 1, Clients.LONG, 0);
            }
            inbox.await(all.size(), 1, 100);
        }
    }

    /** A listener and a template with enableMsgTrace: the messages are sent and consumed; those tagged Later fail the first time. */
    public static void traced(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        Set<String> failed = Collections.synchronizedSet(new HashSet<>());
        Consumer<MessageExt> take = message -> {
            if ("Later".equals(message.getTags()) && failed.add(message.getKeys())) {
                throw new IllegalStateException("as asked for");
            }
            inbox.take("traced", Collections.singletonList(message));
        };
        Map<String, Object> traced = Map.of("rocketmq.producer.enable-msg-trace", true);
        try (SpringClient client = SpringClient.started(in, traced, take, Listeners.Traced.class)) {
            List<Wishes.Wish> all = Wishes.of(in);
            for (Wishes.Wish wish : all) {
                out.sent(wish.send(client.template()));
            }
            inbox.await(all.size(), Clients.LONG, 300);
            Thread.sleep(KEPT_BACK);
        }
    }
}
