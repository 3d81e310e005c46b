package compat;

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** Starts a producer that stays until the JVM ends: it is connected to the topic's brokers once it has sent one message. */
public final class StayProducer implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        out.sent(producer.send(new Message(in.text("topic"), "stay".getBytes(StandardCharsets.UTF_8))));
        producer.getDefaultMQProducerImpl().getmQClientFactory().sendHeartbeatToAllBrokerWithLock();
    }
}
