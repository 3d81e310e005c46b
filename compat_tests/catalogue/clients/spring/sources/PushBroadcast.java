package compat;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Two applications with a broadcasting listener of one group, then the messages: each gets them all. */
public final class PushBroadcast implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        try (SpringClient a = listening("a", in, inbox); SpringClient b = listening("b", in, inbox)) {
            List<Wishes.Wish> all = Wishes.of(in);
            for (Wishes.Wish wish : all) {
                out.sent(wish.send(a.template()));
            }
            inbox.await(2 * all.size(), Clients.LONG, 300);
        }
    }

    private static SpringClient listening(String name, Request in, Inbox inbox) {
        return SpringClient.started(
            in, Map.of(), message -> inbox.take(name, Collections.singletonList(message)), Listeners.Broadcasting.class);
    }
}
