package io.github.rocketwire.testing;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Creates a topic as Apache's admin tools do, and waits until the name server knows it. */
final class TopicCreation {
    private static final int UPDATE_AND_CREATE_TOPIC = 17;
    private static final int GET_ROUTEINFO_BY_TOPIC = 105;
    private static final String READ_AND_WRITE = "6";
    private static final long KNOWN_WITHIN_NANOS = 30_000_000_000L;
    private static final long ASK_EVERY_MILLIS = 5;

    private final String namesrv;
    private final String broker;

    TopicCreation(String namesrv, String broker) {
        this.namesrv = namesrv;
        this.broker = broker;
    }

    /** Returns when clients find the topic. Throws RocketwireException when the broker refuses it. */
    void create(String topic, int queues) {
        Map<String, String> fields = new HashMap<>();
        fields.put("topic", topic);
        fields.put("defaultTopic", "TBW102");
        fields.put("readQueueNums", String.valueOf(queues));
        fields.put("writeQueueNums", String.valueOf(queues));
        fields.put("perm", READ_AND_WRITE);
        fields.put("topicFilterType", "SINGLE_TAG");
        fields.put("topicSysFlag", "0");
        fields.put("order", "false");
        Remoting.Answer answer = Remoting.call(broker, UPDATE_AND_CREATE_TOPIC, fields);
        if (answer.code != Remoting.SUCCESS) {
            throw new RocketwireException(
                    "the broker refused topic " + topic + " with code " + answer.code + ": " + answer.remark);
        }
        waitUntilKnown(topic, queues);
    }

    /** The broker registers topics after it has answered; a client that asked before would get other queues. */
    private void waitUntilKnown(String topic, int queues) {
        long end = System.nanoTime() + KNOWN_WITHIN_NANOS;
        while (queuesKnown(topic) != queues) {
            if (System.nanoTime() > end) {
                throw new RocketwireException("the name server still does not know topic " + topic);
            }
            try {
                Thread.sleep(ASK_EVERY_MILLIS);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new RocketwireException("interrupted while topic " + topic + " was created", error);
            }
        }
    }

    /** How many queues of the topic the name server knows; 0 when it does not know the topic. */
    private long queuesKnown(String topic) {
        Map<String, String> fields = new HashMap<>();
        fields.put("topic", topic);
        fields.put("acceptStandardJsonOnly", "true");
        Remoting.Answer answer = Remoting.call(namesrv, GET_ROUTEINFO_BY_TOPIC, fields);
        if (answer.code != Remoting.SUCCESS) {
            return 0;
        }
        List<?> brokers = (List<?>) Json.object(answer.body).get("queueDatas");
        return brokers.isEmpty() ? 0 : (Long) ((Map<?, ?>) brokers.get(0)).get("writeQueueNums");
    }
}
