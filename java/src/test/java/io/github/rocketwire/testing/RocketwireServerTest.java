package io.github.rocketwire.testing;

import static io.github.rocketwire.testing.Clients.LONG;
import static io.github.rocketwire.testing.Clients.message;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.rocketwire.testing.junit.Rocketwire;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.time.Instant;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a test does with an endpoint, by Apache's own client. */
@Rocketwire
class RocketwireServerTest {
    private static final int ONE_HOUR = 17; // the delay level

    @Test
    void whatIsSentIsReceived(RocketwireServer rocketmq) throws Exception {
        String topic = rocketmq.createUniqueTopic("Orders", 3);
        try (Clients clients = new Clients(rocketmq)) {
            assertEquals(3, clients.producer().fetchPublishMessageQueues(topic).size());
            assertEquals(SendStatus.SEND_OK, clients.producer().send(message(topic, "first 消息")).getSendStatus());
            assertEquals("first 消息", clients.consume(topic).next(LONG));
        }
    }

    @Test
    void delaysOfAnHourAreOverWhenTheClockIsAdvanced() throws Exception {
        try (RocketwireServer rocketmq = RocketwireServer.start(); Clients clients = new Clients(rocketmq)) {
            String topic = rocketmq.createUniqueTopic("Later", 1);
            Message later = message(topic, "in an hour");
            later.setDelayTimeLevel(ONE_HOUR);
            clients.producer().send(later);
            clients.producer().send(message(topic, "at once"));
            Clients.Bodies received = clients.consume(topic);
            assertEquals("at once", received.next(LONG));
            assertNull(received.next(Duration.ofMillis(300)));

            rocketmq.clock().advance(Duration.ofHours(1));

            assertEquals("in an hour", received.next(LONG));
            assertEquals(Duration.ofHours(1), rocketmq.clock().advanced());
            assertTrue(rocketmq.clock().now().isAfter(Instant.now().plus(Duration.ofMinutes(59))));
        }
    }

    @Test
    void aClockIsNotMovedBack(RocketwireServer rocketmq) {
        assertThrows(IllegalArgumentException.class, () -> rocketmq.clock().advance(Duration.ofMillis(-1)));
    }

    @Test
    void faultsComeAndGo(RocketwireServer rocketmq) throws Exception {
        String topic = rocketmq.createUniqueTopic("Throttled", 1);
        try (Clients clients = new Clients(rocketmq)) {
            FaultRule rule = rocketmq.faults().add("answer:215:\"slow, please\",code=310,topic=" + topic);
            MQBrokerException refused = assertThrows(
                    MQBrokerException.class, () -> clients.producer().send(message(topic, "refused")));
            assertEquals(215, refused.getResponseCode());
            assertTrue(refused.getErrorMessage().contains("slow, please"), refused.getErrorMessage());

            FaultRule matched = rocketmq.faults().list().stream()
                    .filter(each -> each.id() == rule.id())
                    .findFirst()
                    .get();
            assertTrue(matched.struck() >= 1, matched.toString());
            assertFalse(matched.isSpent());
            assertEquals(rule.rule(), matched.rule());
            rocketmq.faults().remove(rule);
            assertEquals(SendStatus.SEND_OK, clients.producer().send(message(topic, "taken")).getSendStatus());
            assertThrows(RocketwireException.class, () -> rocketmq.faults().remove(rule));
        }
    }

    @Test
    void faultsAndSettingsAreThereFromTheStart() {
        try (RocketwireServer rocketmq = RocketwireServer.builder()
                .fault("delay:5,code=310")
                .set("brokerName", "broker-of-mine")
                .options("--log-level", "debug")
                .start()) {
            assertEquals("delay:5:request,code=SEND_MESSAGE_V2", rocketmq.faults().list().get(0).rule());
            rocketmq.faults().clear();
            assertTrue(rocketmq.faults().list().isEmpty());
            assertTrue(rocketmq.log().contains("listens on"), rocketmq.log());
        }
    }

    @Test
    void aRuleThatCannotBeReadIsRefusedWithTheReason(RocketwireServer rocketmq) {
        RocketwireException refused =
                assertThrows(RocketwireException.class, () -> rocketmq.faults().add("explode"));
        assertTrue(refused.getMessage().contains("400: explode: "), refused.getMessage());
    }

    @Test
    void aTopicThatTheBrokerRefusesIsAnError(RocketwireServer rocketmq) {
        RocketwireException refused =
                assertThrows(RocketwireException.class, () -> rocketmq.createTopic("not a \"topic\"", 1));
        assertTrue(refused.getMessage().startsWith("the broker refused topic not a"), refused.getMessage());
    }

    @Test
    void serversRunSideBySide(RocketwireServer one) throws Exception {
        try (RocketwireServer other = RocketwireServer.start();
                Clients ofOne = new Clients(one);
                Clients ofOther = new Clients(other)) {
            assertNotEquals(one.namesrv(), other.namesrv());
            String topic = one.uniqueName("Both");
            one.createTopic(topic, 1);
            other.createTopic(topic, 1);
            ofOne.producer().send(message(topic, "to one"));
            ofOther.producer().send(message(topic, "to the other"));
            Clients.Bodies fromOne = ofOne.consume(topic);
            Clients.Bodies fromOther = ofOther.consume(topic);
            assertEquals("to one", fromOne.next(LONG));
            assertEquals("to the other", fromOther.next(LONG));
            assertNull(fromOne.next(Duration.ofMillis(100)));
            assertNull(fromOther.next(Duration.ofMillis(100)));
        }
    }

    @Test
    void closingEndsTheProcessAndRemovesTheStore() {
        RocketwireServer rocketmq = RocketwireServer.start();
        Path store = Paths.get(rocketmq.store());
        assertTrue(rocketmq.isRunning());
        assertTrue(Files.isDirectory(store));
        rocketmq.close();
        assertFalse(rocketmq.isRunning());
        assertFalse(Files.exists(store));
        rocketmq.close();
    }

    @Test
    void aStoreThatIsNamedIsKeptAndServedAgain(@TempDir Path folder) throws Exception {
        RocketwireServer.Builder settings = RocketwireServer.builder().store(folder.resolve("store"));
        String topic;
        try (RocketwireServer first = settings.start(); Clients clients = new Clients(first)) {
            topic = first.createUniqueTopic("Kept", 1);
            clients.producer().send(message(topic, "kept"));
        }
        try (RocketwireServer second = settings.start(); Clients clients = new Clients(second)) {
            assertEquals("kept", clients.consume(topic).next(LONG));
        }
    }
}
