package compat;

import java.util.Collections;
import java.util.Map;

/** An annotated listener takes `count` messages and leaves. */
public final class PushConcurrent implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        try (SpringClient client = SpringClient.started(
                in, Map.of(), message -> inbox.take("push", Collections.singletonList(message)), Listeners.Concurrent.class)) {
            out.event("started").print();
            inbox.await(in);
        }
    }
}
