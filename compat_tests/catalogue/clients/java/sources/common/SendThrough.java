package compat;

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/**
 * Sends the messages one by one, with a `pause` of ms between them, at an endpoint that misbehaves: whatever is thrown is printed, and
 * the next is sent.
 */
public final class SendThrough implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(out.event("sent").put("text", new String(wanted.message.getBody(), StandardCharsets.UTF_8)),
                        producer.send(wanted.message));
                } catch (Exception failed) { // a broken answer may end in any
                    out.failure("failed", failed);
                }
                Thread.sleep(in.number("pause", 0));
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
