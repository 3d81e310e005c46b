package compat;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.spring.annotation.ConsumeMode;
import org.apache.rocketmq.spring.annotation.MessageModel;
import org.apache.rocketmq.spring.annotation.RocketMQMessageListener;
import org.apache.rocketmq.spring.annotation.SelectorType;
import org.apache.rocketmq.spring.core.RocketMQListener;
import org.apache.rocketmq.spring.core.RocketMQPushConsumerLifecycleListener;
import org.springframework.beans.factory.annotation.Autowired;

/** A listener for each way of consuming that an annotation can choose. */
final class Listeners {
    private static final String TOPIC = "${compat.topic}";
    private static final String GROUP = "${compat.group}";
    private static final String EXPRESSION = "${compat.expression}";
    private static final String TLS = "${compat.tls}";

    private Listeners() {
    }

    abstract static class Any implements RocketMQListener<MessageExt>, RocketMQPushConsumerLifecycleListener {
        @Autowired
        private Handler handler;

        @Override
        public void onMessage(MessageExt message) {
            handler.take(message);
        }

        @Override
        public void prepareStart(DefaultMQPushConsumer consumer) {
            handler.prepare(consumer);
        }
    }

    @RocketMQMessageListener(topic = TOPIC, consumerGroup = GROUP, tlsEnable = TLS, selectorExpression = EXPRESSION)
    static class Concurrent extends Any {
    }

    @RocketMQMessageListener(topic = TOPIC, consumerGroup = GROUP, tlsEnable = TLS, consumeMode = ConsumeMode.ORDERLY,
        suspendCurrentQueueTimeMillis = 300)
    static class Orderly extends Any {
    }

    @RocketMQMessageListener(topic = TOPIC, consumerGroup = GROUP, tlsEnable = TLS, messageModel = MessageModel.BROADCASTING)
    static class Broadcasting extends Any {
    }

    @RocketMQMessageListener(topic = TOPIC, consumerGroup = GROUP, tlsEnable = TLS, selectorType = SelectorType.SQL92,
        selectorExpression = EXPRESSION)
    static class Sql extends Any {
    }

    @RocketMQMessageListener(topic = TOPIC, consumerGroup = GROUP, tlsEnable = TLS, enableMsgTrace = true)
    static class Traced extends Any {
    }
}
