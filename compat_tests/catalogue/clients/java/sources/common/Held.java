package compat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.message.MessageExt;

/** A push consumer that outlives the scenario that started it, and what it has received. Others find it by its name. */
final class Held {
    private static final Map<String, Held> ALL = new ConcurrentHashMap<>();

    final DefaultMQPushConsumer consumer;
    volatile boolean takes = true;
    private final List<MessageExt> received = new ArrayList<>();

    Held(String name, DefaultMQPushConsumer consumer) {
        this.consumer = consumer;
        ALL.put(name, this);
    }

    static Held of(String name) {
        return ALL.get(name);
    }

    static void leaveAll() throws InterruptedException {
        for (Held held : ALL.values()) {
            Clients.leave(held.consumer::shutdown);
        }
        ALL.clear();
    }

    synchronized void add(List<MessageExt> messages) {
        received.addAll(messages);
        notifyAll();
    }

    /** What came since the last call, once it is `wanted` messages and no more come for `settle` ms, or the seconds are over. */
    synchronized List<MessageExt> collect(int wanted, int seconds, int settle) throws InterruptedException {
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
}
