package compat;

import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** Asks for a key nobody sent. */
public final class QueryMissing implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            producer.queryMessage(in.text("topic"), in.text("key"), 32, 0, System.currentTimeMillis());
            out.event("found").print();
        } catch (MQClientException nothing) {
            out.failure("nothing", nothing);
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
