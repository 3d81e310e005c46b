package compat;

import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** Sends the messages one by one at an endpoint that misbehaves: whatever is thrown is printed, and the next is sent. */
public final class SendThrough implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(producer.send(wanted.message));
                } catch (Exception failed) { // a broken answer may end in any
                    out.failure("failed", failed);
                }
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
