import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/**
 * A consumer of a new group, with its default settings, empties a topic that holds `count` messages. Timed from the
 * first message to the last; how long the first one took is reported beside it.
 */
final class DrainBench {
    private static final int TIMEOUT_SECONDS = 90;

    private final Settings settings;
    private final AtomicLong received = new AtomicLong();
    private final CountDownLatch done = new CountDownLatch(1);
    private long startedAt;
    private volatile long firstAt;
    private volatile long lastAt;
    private volatile double cpuAtFirst;

    DrainBench(Settings settings) {
        this.settings = settings;
    }

    private void got(int messages) throws Exception {
        long before = received.getAndAdd(messages);
        if (before == 0) {
            firstAt = System.nanoTime();
            cpuAtFirst = Result.cpuSeconds(settings.serverPid);
        }
        if (before < settings.count && before + messages >= settings.count) {
            lastAt = System.nanoTime();
            done.countDown();
        }
    }

    private Result result(double cpuAtLast) {
        if (lastAt == 0) {
            throw new IllegalStateException(received + " of " + settings.count + " messages after " + TIMEOUT_SECONDS + " s");
        }
        return new Result(settings.count, (lastAt - firstAt) / 1e9,
            settings.serverPid == 0 ? 0 : cpuAtLast - cpuAtFirst, (firstAt - startedAt) / 1e9, new long[0]);
    }

    Result push() throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_push_" + settings.unique);
        consumer.setNamesrvAddr(settings.nameServer);
        consumer.setInstanceName("c" + settings.unique);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(settings.topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            try {
                got(messages.size());
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        startedAt = System.nanoTime();
        consumer.start();
        try {
            done.await(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            return result(Result.cpuSeconds(settings.serverPid));
        } finally {
            consumer.shutdown();
        }
    }

    Result lite() throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer("bench_lite_" + settings.unique);
        consumer.setNamesrvAddr(settings.nameServer);
        consumer.setInstanceName("l" + settings.unique);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(settings.topic, "*");
        startedAt = System.nanoTime();
        consumer.start();
        try {
            while (lastAt == 0 && System.nanoTime() - startedAt < TIMEOUT_SECONDS * 1_000_000_000L) {
                int messages = consumer.poll(1000).size();
                if (messages > 0) {
                    got(messages);
                }
            }
            return result(Result.cpuSeconds(settings.serverPid));
        } finally {
            consumer.shutdown();
        }
    }
}
