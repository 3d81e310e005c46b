package compat;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;

/** What is named otherwise in 5.x: the 4.x side. */
final class Shim {
    private Shim() {
    }

    static void broadcasting(DefaultMQPushConsumer consumer) {
        consumer.setMessageModel(MessageModel.BROADCASTING);
    }

    static void rebalancedByBroker(DefaultMQPushConsumer consumer) {
        throw new IllegalArgumentException("4.x clients share out queues themselves");
    }

    static void createTopic(DefaultMQProducer producer, String key, String topic, int queues, String type) throws Exception {
        if (!type.isEmpty()) {
            throw new IllegalArgumentException("4.x clients know no types of topics");
        }
        producer.createTopic(key, topic, queues);
    }

    static void timeoutPerTry(DefaultMQProducer producer, int ms) {
        throw new IllegalArgumentException("4.x clients have one time-out for all tries");
    }

    /** A property that clients set on their own, as those of the delivery time. */
    static void property(Message message, String name, String value) {
        MessageAccessor.putProperty(message, name, value);
    }

    static String recallHandle(SendResult result) {
        return null;
    }

    static String recall(DefaultMQProducer producer, String topic, String handle) throws Exception {
        throw new IllegalArgumentException("4.x clients recall nothing");
    }

    static void pullBytes(DefaultMQPushConsumer consumer, int bytes) {
        // 4.x clients bound a pull by its messages only
    }
}
