import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/**
 * A consumer of a new group and a topic that holds `count` messages, measured for the time given, or until it has
 * consumed them all.
 */
final class SdkReceives {
    private static final Duration INVISIBLE = Duration.ofSeconds(30);
    private static final Duration WAIT = Duration.ofSeconds(5);

    private final ClientServiceProvider provider = ClientServiceProvider.loadService();
    private final Settings settings;
    private final Timed timed;
    private final AtomicLong consumed = new AtomicLong();

    SdkReceives(Settings settings) {
        this.settings = settings;
        timed = new Timed(settings);
    }

    private void consumed(int messages) {
        if (consumed.addAndGet(messages) >= settings.count) {
            timed.stop();
        }
    }

    /** Threads that receive up to a batch and acknowledge each message of it. */
    Result receive() throws Exception {
        try (SimpleConsumer consumer = provider.newSimpleConsumerBuilder()
            .setClientConfiguration(SdkSends.configuration(settings)).setConsumerGroup(settings.group)
            .setAwaitDuration(WAIT)
            .setSubscriptionExpressions(Collections.singletonMap(settings.topic, FilterExpression.SUB_ALL)).build()) {
            return timed.threads(() -> {
                List<MessageView> messages = consumer.receive(settings.batch, INVISIBLE);
                for (MessageView message : messages) {
                    consumer.ack(message);
                    timed.count(1);
                }
                consumed(messages.size());
            });
        }
    }

    Result push() throws Exception {
        try (PushConsumer consumer = provider.newPushConsumerBuilder()
            .setClientConfiguration(SdkSends.configuration(settings)).setConsumerGroup(settings.group)
            .setSubscriptionExpressions(Collections.singletonMap(settings.topic, FilterExpression.SUB_ALL))
            .setConsumptionThreadCount(settings.threads)
            .setMessageListener(message -> {
                timed.count(1);
                consumed(1);
                return ConsumeResult.SUCCESS;
            }).build()) {
            double[] took = timed.measure();
            return new Result(timed.counted(), took[0], took[1], 0, new long[0]);
        }
    }
}
