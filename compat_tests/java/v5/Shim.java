package compat;

import java.util.Collections;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;

/** What is named otherwise in 4.x: the 5.x side. */
final class Shim {
    private Shim() {
    }

    static void broadcasting(DefaultMQPushConsumer consumer) {
        consumer.setMessageModel(MessageModel.BROADCASTING);
    }

    static void createTopic(DefaultMQProducer producer, String key, String topic, int queues, String type) throws Exception {
        if (type.isEmpty()) {
            producer.createTopic(key, topic, queues, Collections.emptyMap());
        } else { // the producer's own call drops the attributes it is given
            producer.getDefaultMQProducerImpl().getMqClientFactory().getMQAdminImpl()
                .createTopic(key, topic, queues, 0, Collections.singletonMap("+message.type", type));
        }
    }
}
