package compat;

import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** Sends the messages one-way: nobody answers. */
public final class SendOneway implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                producer.sendOneway(wanted.message);
                out.event("handed over").print();
            }
            Thread.sleep(in.number("linger", 300)); // shutting down closes the connection under frames not written yet
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
