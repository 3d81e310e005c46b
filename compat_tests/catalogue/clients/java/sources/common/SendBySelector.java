package compat;

import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** Sends each message through a selector that picks a queue by the message's wished number. */
public final class SendBySelector implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                out.sent(producer.send(wanted.message,
                    (queues, message, number) -> queues.get((Integer) number % queues.size()), wanted.queue));
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
