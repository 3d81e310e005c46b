package compat;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageExt;

/** A waiting listener is sent messages one at a time: prints how long each took from the send to the listener. */
public final class PushWhileSending implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        try (SpringClient client = SpringClient.started(
                in, Map.of(), message -> take(inbox, out, message), Listeners.Concurrent.class)) {
            Thread.sleep(in.number("idle", 1500)); // the pulls are held by the broker by now
            List<Wishes.Wish> all = Wishes.of(in);
            for (int i = 0; i < all.size(); i++) {
                out.sent(all.get(i).send(client.template()));
                inbox.await(i + 1, Clients.LONG, 0);
            }
            inbox.await(all.size(), 1, 100);
        }
    }

    private static void take(Inbox inbox, Out out, MessageExt message) {
        out.event("delay").put("ms", System.currentTimeMillis() - message.getBornTimestamp()).print();
        inbox.take("push", Collections.singletonList(message));
    }
}
