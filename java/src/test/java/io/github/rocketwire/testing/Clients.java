package io.github.rocketwire.testing;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/** Apache's own client at an endpoint: a producer, and consumers that put bodies into a queue. */
public final class Clients implements AutoCloseable {
    /** Longer than anything takes, even on a machine that does much else. */
    public static final Duration LONG = Duration.ofSeconds(60);

    private final RocketwireEndpoint endpoint;
    private final DefaultMQProducer producer;
    private final BlockingQueue<Runnable> opened = new LinkedBlockingQueue<>();

    public Clients(RocketwireEndpoint endpoint) throws MQClientException {
        this.endpoint = endpoint;
        producer = new DefaultMQProducer(endpoint.uniqueName("producer"));
        producer.setNamesrvAddr(endpoint.namesrv());
        producer.setSendMsgTimeout((int) LONG.toMillis());
        producer.start();
        opened.add(producer::shutdown);
    }

    public DefaultMQProducer producer() {
        return producer;
    }

    public static Message message(String topic, String body) {
        return new Message(topic, body.getBytes(StandardCharsets.UTF_8));
    }

    /** Starts a consumer of a new group and returns the bodies that it gets, from the topic's beginning. */
    public Bodies consume(String topic) throws MQClientException {
        Bodies bodies = new Bodies();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(endpoint.uniqueName("consumer"));
        consumer.setNamesrvAddr(endpoint.namesrv());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(each -> bodies.got.add(new String(each.getBody(), StandardCharsets.UTF_8)));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        opened.add(consumer::shutdown);
        return bodies;
    }

    @Override
    public void close() {
        opened.forEach(Runnable::run);
    }

    /** What a consumer has got. */
    public static final class Bodies {
        private final BlockingQueue<String> got = new LinkedBlockingQueue<>();

        /** The next one; null when none comes in time. */
        public String next(Duration within) throws InterruptedException {
            return got.poll(within.toMillis(), TimeUnit.MILLISECONDS);
        }
    }
}
