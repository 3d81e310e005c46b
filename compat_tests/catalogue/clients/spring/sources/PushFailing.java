package compat;

import java.util.Collections;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A listener that fails a message as often as its property `fail` says, by an exception: the only way that it has. The delay level
 * of a retry, and how long an orderly listener suspends its queue, are its annotation's.
 */
public final class PushFailing implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        try (SpringClient client = SpringClient.started(in, Map.of(), message -> take(inbox, message), listener(in))) {
            inbox.await(in);
        }
    }

    private static Class<?> listener(Request in) {
        switch (in.text("mode", "concurrent")) {
            case "orderly":
                return Listeners.Orderly.class;
            case "broadcast":
                return Listeners.Broadcasting.class;
            default:
                return Listeners.Concurrent.class;
        }
    }

    private static void take(Inbox inbox, MessageExt message) {
        inbox.take("push", Collections.singletonList(message));
        String times = message.getUserProperty("fail");
        if (times != null && message.getReconsumeTimes() < Integer.parseInt(times)) {
            throw new IllegalStateException("as asked for");
        }
    }
}
