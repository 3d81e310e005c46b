package compat;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.apis.message.MessageView;

/**
 * Receives until `count` messages came or `wait` seconds are over, at most `most` at a time, invisible to others for `invisible`
 * seconds; with `ack` 1 each is acknowledged. Each receive that brought nothing is told, and each that failed.
 */
public final class Receive implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Open open = Open.of(in);
        int count = in.number("count", 1);
        Duration invisible = Duration.ofSeconds(in.number("invisible", 30));
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Sdk.LONG));
        for (int got = 0; got < count && System.nanoTime() < end;) {
            long began = System.nanoTime();
            int before = got;
            try {
                for (MessageView message : open.simple().receive(in.number("most", 32), invisible)) {
                    open.held.put(message.getMessageId().toString(), message);
                    out.message("received", message).print();
                    got++;
                    if (in.number("ack", 0) == 1) {
                        open.simple().ack(message);
                    }
                }
            } catch (Exception failed) {
                out.failure("failed", failed);
                Thread.sleep(200);
                continue;
            }
            if (got == before) {
                out.event("nothing").put("ms", (System.nanoTime() - began) / 1_000_000).print();
            }
        }
    }
}
