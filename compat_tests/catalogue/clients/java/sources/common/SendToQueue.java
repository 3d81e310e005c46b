package compat;

import java.util.List;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends each message to the queue it names, also to one that doesn't exist on the broker. */
public final class SendToQueue implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            List<MessageQueue> queues = producer.fetchPublishMessageQueues(in.text("topic"));
            String broker = in.text("broker", queues.get(0).getBrokerName());
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(producer.send(wanted.message, new MessageQueue(in.text("topic"), broker, wanted.queue)));
                } catch (MQBrokerException refused) {
                    out.failure("refused", refused);
                }
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
