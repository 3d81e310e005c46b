package io.github.rocketwire.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.rocketwire.testing.junit.Rocketwire;
import java.time.Duration;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.junit.jupiter.api.Test;

/* The example of docs/testing-other-languages.md. */
@Rocketwire
class OrdersTest {
    @Test
    void anOrderIsSent(RocketwireServer rocketmq) throws Exception {
        rocketmq.createTopic("Orders", 4);
        DefaultMQProducer producer = new DefaultMQProducer("shop");
        producer.setNamesrvAddr(rocketmq.namesrv());
        producer.setSendMsgTimeout(60_000); // a machine that builds is busy
        producer.start();
        assertEquals(SendStatus.SEND_OK, producer.send(new Message("Orders", "first".getBytes())).getSendStatus());
        rocketmq.clock().advance(Duration.ofHours(1)); // what is delayed, or tried again, comes now
        producer.shutdown();
    }
}
