package compat;

import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * A listener and a template with enableMsgTrace: the messages are sent and consumed; those tagged Later fail the first time. The
 * template's client keeps traces back for up to 5 s, in 5.x, and loses them if it ends before.
 */
public final class Traced implements Scenario {
    private static final long KEPT_BACK = 6_000;

    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        Set<String> failed = Collections.synchronizedSet(new HashSet<>());
        Map<String, Object> traced = Map.of("rocketmq.producer.enable-msg-trace", true);
        try (SpringClient client = SpringClient.started(in, traced, message -> {
            if ("Later".equals(message.getTags()) && failed.add(message.getKeys())) {
                throw new IllegalStateException("as asked for");
            }
            inbox.take("traced", Collections.singletonList(message));
        }, Listeners.Traced.class)) {
            int count = 0;
            for (Wishes.Wish wish : Wishes.of(in)) {
                out.sent(wish.send(client.template()));
                count++;
            }
            inbox.await(count, Clients.LONG, 300);
            Thread.sleep(KEPT_BACK);
        }
    }
}
