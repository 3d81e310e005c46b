package compat;

import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** Sends the messages one by one, each waiting for the broker's answer; a refusal is printed and the next is sent. */
public final class SendSync implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(producer.send(wanted.message));
                } catch (MQBrokerException | MQClientException refused) {
                    out.failure("refused", refused);
                }
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
