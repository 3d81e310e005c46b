package compat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.message.MessageExt;

/** Counts and prints what consumers receive, and waits for it. */
public final class Inbox {
    private final Out out;
    private final AtomicInteger count = new AtomicInteger();

    public Inbox(Out out) {
        this.out = out;
    }

    public void take(String by, List<MessageExt> messages) {
        try {
            for (MessageExt message : messages) {
                out.received(by, message);
                count.incrementAndGet();
            }
        } catch (Exception problem) {
            out.failure("crashed", problem);
        }
    }

    public MessageListenerConcurrently listener(String by) {
        return (messages, context) -> {
            take(by, messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        };
    }

    public int count() {
        return count.get();
    }

    /** Waits until `wanted` messages came (or the seconds are over), then as long again as `settle` ms for any too many. */
    public void await(int wanted, int seconds, int settle) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (count.get() < wanted && System.nanoTime() < end) {
            Thread.sleep(10);
        }
        Thread.sleep(settle);
    }

    public void await(Request in) throws InterruptedException {
        await(in.number("count"), in.number("wait", Clients.LONG), in.number("settle", 300));
    }
}
