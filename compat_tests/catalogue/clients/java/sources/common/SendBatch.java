package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** Sends all messages as one batch; a refusal is printed. */
public final class SendBatch implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            List<Message> batch = new ArrayList<>();
            for (Messages.Wanted wanted : Messages.of(in)) {
                batch.add(wanted.message);
            }
            try {
                out.sent(producer.send(batch));
            } catch (MQBrokerException refused) {
                out.failure("refused", refused);
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
