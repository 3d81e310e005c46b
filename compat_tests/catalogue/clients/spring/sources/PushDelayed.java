package compat;

import java.util.Collections;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.spring.core.RocketMQTemplate;

/** A waiting listener is sent delayed messages, while another thread sends plain ones to the topic `busy` all the time. */
public final class PushDelayed implements Scenario {
    private static final byte[] PLAIN = new byte[250];

    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger busy = new AtomicInteger();
        try (SpringClient client = SpringClient.started(
                in, Map.of(), message -> inbox.take("push", Collections.singletonList(message)), Listeners.Concurrent.class)) {
            RocketMQTemplate template = client.template();
            Thread other = new Thread(() -> {
                while (!over.get()) {
                    template.syncSend(in.text("busy"), PLAIN);
                    busy.incrementAndGet();
                }
            }, "busy");
            other.start();
            try {
                for (Wishes.Wish wish : Wishes.of(in)) {
                    out.sent(wish.send(template));
                }
                inbox.await(in);
            } finally {
                over.set(true);
                other.join();
            }
        }
        out.event("busy").put("sent", busy.get()).print();
    }
}
