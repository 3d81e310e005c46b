package compat;

import java.util.Collections;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.common.message.MessageExt;

/** An orderly listener: prints each message, and whether two threads ever held one queue at once. */
public final class PushOrderly implements Scenario {
    private final Map<Integer, AtomicInteger> inside = new ConcurrentHashMap<>();
    private final AtomicInteger overlaps = new AtomicInteger();

    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        try (SpringClient client = SpringClient.started(in, Map.of(), message -> take(inbox, message), Listeners.Orderly.class)) {
            inbox.await(in);
            out.event("overlaps").put("count", overlaps.get()).print();
        }
    }

    private void take(Inbox inbox, MessageExt message) {
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
    }
}
