package io.github.rocketwire.testing.testcontainers;

import static io.github.rocketwire.testing.Clients.LONG;
import static io.github.rocketwire.testing.Clients.message;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.rocketwire.testing.Clients;
import java.time.Duration;
import org.apache.rocketmq.common.message.Message;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The endpoint in a container, by Apache's own client on the test's machine. */
@Tag("container")
class RocketwireContainerTest {
    private static final RocketwireContainer ROCKETMQ = new RocketwireContainer(System.getProperty("rocketwire.image"))
            .withSetting("brokerName", "of-a-container")
            .withFault("delay:1,topic=Unused");

    @BeforeAll
    static void start() {
        ROCKETMQ.start();
    }

    @AfterAll
    static void stop() {
        ROCKETMQ.stop();
    }

    @Test
    void whatIsSentIsReceived() throws Exception {
        String topic = ROCKETMQ.createUniqueTopic("Orders", 2);
        try (Clients clients = new Clients(ROCKETMQ)) {
            assertEquals(
                    "of-a-container",
                    clients.producer().send(message(topic, "first")).getMessageQueue().getBrokerName());
            assertEquals("first", clients.consume(topic).next(LONG));
        }
    }

    @Test
    void theClockAndFaultsAreThereToo() throws Exception {
        String topic = ROCKETMQ.createUniqueTopic("Later", 1);
        try (Clients clients = new Clients(ROCKETMQ)) {
            Message later = message(topic, "in two hours");
            later.setDelayTimeLevel(18);
            clients.producer().send(later);
            assertEquals("delay:1:request,topic=Unused", ROCKETMQ.faults().list().get(0).rule());
            ROCKETMQ.clock().advance(Duration.ofHours(2));
            assertEquals("in two hours", clients.consume(topic).next(LONG));
        }
    }
}
