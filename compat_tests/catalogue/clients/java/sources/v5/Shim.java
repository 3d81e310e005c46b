package compat;

import java.util.Collections;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;

/** What is named otherwise in 4.x: the 5.x side. */
final class Shim {
    private Shim() {
    }

    static void broadcasting(DefaultMQPushConsumer consumer) {
        consumer.setMessageModel(MessageModel.BROADCASTING);
    }

    /** Its queues are the broker's to give, and so is whether it pulls or pops. */
    static void rebalancedByBroker(DefaultMQPushConsumer consumer) {
        consumer.setClientRebalance(false);
    }

    static void createTopic(DefaultMQProducer producer, String key, String topic, int queues, String type) throws Exception {
        if (type.isEmpty()) {
            producer.createTopic(key, topic, queues, Collections.emptyMap());
        } else { // the producer's own call drops the attributes it is given
            producer.getDefaultMQProducerImpl().getMqClientFactory().getMQAdminImpl()
                .createTopic(key, topic, queues, 0, Collections.singletonMap("+message.type", type));
        }
    }

    /** Called by name: clients before 5.5, which Spring's starter has, lack it. */
    static void timeoutPerTry(DefaultMQProducer producer, int ms) throws Exception {
        DefaultMQProducer.class.getMethod("setSendMsgMaxTimeoutPerRequest", int.class).invoke(producer, ms);
    }

    /** A property that clients set on their own; those of the delivery time by the methods that are meant for them. */
    static void property(Message message, String name, String value) {
        switch (name) {
            case "TIMER_DELAY_SEC":
                message.setDelayTimeSec(Long.parseLong(value));
                break;
            case "TIMER_DELAY_MS":
                message.setDelayTimeMs(Long.parseLong(value));
                break;
            case "TIMER_DELIVER_MS":
                message.setDeliverTimeMs(Long.parseLong(value));
                break;
            default:
                MessageAccessor.putProperty(message, name, value);
        }
    }

    static String recallHandle(SendResult result) {
        return result.getRecallHandle();
    }

    static String recall(DefaultMQProducer producer, String topic, String handle) throws Exception {
        return producer.recallMessage(topic, handle);
    }

    /** What a pull brings at most, which by default is 256 KiB. */
    static void pullBytes(DefaultMQPushConsumer consumer, int bytes) {
        consumer.setPullBatchSizeInBytes(bytes);
    }
}
