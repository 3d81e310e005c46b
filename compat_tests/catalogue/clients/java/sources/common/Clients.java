package compat;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * The clients of the scenarios: defaults of the official client but for the name server, a different instance name
 * each, and heartbeats every 2 s. (A 5.x consumer that shares out its queues while its first heartbeat is on the way
 * sends its new subscription version only with the next one, 30 s later by default, and is refused every pull until
 * then.)
 */
public final class Clients {
    /** Seconds that anything is waited for which comes sooner or later: longer than a machine that does much else needs. */
    public static final int LONG = 120;
    /** ms that a client waits for an answer, in place of its 3, 6 or 10 s: a JVM that just started on a busy machine needs them itself. */
    private static final int PATIENCE = 30_000;

    private Clients() {
    }

    public static <C extends ClientConfig> C own(C client, Request in) {
        client.setNamesrvAddr(in.text("namesrv"));
        client.setInstanceName(in.text("instance", UUID.randomUUID().toString()));
        client.setClientIP("127.0.0.1");
        client.setHeartbeatBrokerInterval(2_000);
        client.setPollNameServerInterval(in.number("poll", client.getPollNameServerInterval()));
        try {
            ClientConfig.class.getMethod("setMqClientApiTimeout", int.class).invoke(client, PATIENCE);
        } catch (ReflectiveOperationException older) { // 4.4.0 waits 3 s
        }
        return client;
    }

    /**
     * What signs the client's requests for `accessKey` with `secretKey`; null: they are not signed. 4.x has it in a jar of its own,
     * which is among those of the folder ACL_JARS.
     */
    public static RPCHook signer(Request in) throws Exception {
        String accessKey = in.text("accessKey", "");
        if (accessKey.isEmpty()) {
            return null;
        }
        List<URL> jars = new ArrayList<>();
        for (File jar : new File(System.getenv("ACL_JARS")).listFiles()) {
            jars.add(jar.toURI().toURL());
        }
        ClassLoader loader = new URLClassLoader(jars.toArray(new URL[0]), Clients.class.getClassLoader());
        Class<?> credentials = loader.loadClass("org.apache.rocketmq.acl.common.SessionCredentials");
        Object own = credentials.getConstructor(String.class, String.class).newInstance(accessKey, in.text("secretKey"));
        Class<?> hook = loader.loadClass("org.apache.rocketmq.acl.common.AclClientRPCHook");
        return (RPCHook) hook.getConstructor(credentials).newInstance(own);
    }

    public static DefaultMQProducer producer(Request in) throws Exception {
        DefaultMQProducer producer = own(new DefaultMQProducer(in.text("producerGroup", "compat_producer"), signer(in)), in);
        producer.setSendMsgTimeout(in.number("timeout", PATIENCE));
        if (!in.all("perTry").isEmpty()) {
            Shim.timeoutPerTry(producer, in.number("perTry"));
        }
        producer.setRetryTimesWhenSendFailed(in.number("retries", 2));
        producer.setCompressMsgBodyOverHowmuch(in.number("compressOver", producer.getCompressMsgBodyOverHowmuch()));
        producer.setMaxMessageSize(in.number("maxMessageSize", producer.getMaxMessageSize()));
        producer.setDefaultTopicQueueNums(in.number("queues", producer.getDefaultTopicQueueNums()));
        producer.start();
        producer.getDefaultMQProducerImpl().getmQClientFactory().getMQAdminImpl().setTimeoutMillis(PATIENCE);
        return producer;
    }

    /**
     * Opens the producer's connections to the topic's brokers, for a producer that several threads are about to use (4.x has threads of
     * its own for asynchronous sends). In clients up to 4.4.0 each thread that found no connection yet makes one, and closes the one
     * that another thread made meanwhile and already sends on: with any broker, some of those sends then fail.
     */
    public static void connect(DefaultMQProducer producer, String topic) throws Exception {
        for (MessageQueue queue : producer.fetchPublishMessageQueues(topic)) {
            producer.maxOffset(queue);
        }
    }

    /** What a program does with a client. */
    interface Use<C> {
        void with(C client) throws Exception;
    }

    static void producing(Request in, Use<DefaultMQProducer> use) throws Exception {
        DefaultMQProducer producer = producer(in);
        try {
            use.with(producer);
        } finally {
            leave(producer::shutdown);
        }
    }

    /** Waits until the topic has so many messages, or the seconds are over. */
    static void awaitStored(DefaultMQProducer producer, Request in, long all) throws Exception {
        long end = System.currentTimeMillis() + 1000L * in.number("wait", Clients.LONG);
        while (stored(producer, in) < all && System.currentTimeMillis() < end) {
            Thread.sleep(20);
        }
    }

    /** How many messages the topic has. */
    static long stored(DefaultMQProducer producer, Request in) throws Exception {
        long count = 0;
        for (MessageQueue queue : producer.fetchPublishMessageQueues(in.text("topic"))) {
            count += producer.maxOffset(queue);
        }
        return count;
    }

    static void pulling(Request in, Use<DefaultMQPullConsumer> use) throws Exception {
        DefaultMQPullConsumer consumer = pull(in);
        try {
            use.with(consumer);
        } finally {
            leave(consumer::shutdown);
        }
    }

    /** Starts a push consumer that has its listener, and has it leave in the end. */
    static void consuming(DefaultMQPushConsumer consumer, Use<DefaultMQPushConsumer> use) throws Exception {
        consumer.start();
        try {
            use.with(consumer);
        } finally {
            leave(consumer::shutdown);
        }
    }

    static void leaveAll(Iterable<DefaultMQPushConsumer> consumers) throws InterruptedException {
        for (DefaultMQPushConsumer consumer : consumers) {
            leave(consumer::shutdown);
        }
    }

    /** A push consumer of the topic, with the tags of `expression` if the request has one. */
    static DefaultMQPushConsumer subscribed(Request in) throws Exception {
        DefaultMQPushConsumer consumer = push(in);
        consumer.subscribe(in.text("topic"), in.text("expression", "*"));
        return consumer;
    }

    public static DefaultMQPushConsumer push(Request in) throws Exception {
        DefaultMQPushConsumer consumer = own(
            new DefaultMQPushConsumer(in.text("group"), signer(in), new AllocateMessageQueueAveragely()), in);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        consumer.setConsumeMessageBatchMaxSize(in.number("batch", 1));
        if (in.text("rebalance", "client").equals("broker")) {
            Shim.rebalancedByBroker(consumer);
        }
        return consumer;
    }

    public static DefaultMQPullConsumer pull(Request in) throws Exception {
        DefaultMQPullConsumer consumer = own(new DefaultMQPullConsumer(in.text("group"), signer(in)), in);
        consumer.setConsumerPullTimeoutMillis(PATIENCE);
        consumer.start();
        consumer.getDefaultMQPullConsumerImpl().getRebalanceImpl().getmQClientFactory().getMQAdminImpl().setTimeoutMillis(PATIENCE);
        return consumer;
    }

    /**
     * Shuts a client down and returns when it has committed and left its brokers. A 5.x client then goes on for up to 3 s waiting for
     * a thread of its own; that end is left to itself.
     */
    public static void leave(Runnable shutdown) throws InterruptedException {
        Thread leaving = new Thread(shutdown, "leaving");
        leaving.start();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONG);
        while (leaving.isAlive() && !hasLeft(leaving) && System.nanoTime() < end) {
            leaving.join(10);
        }
    }

    /** Whether a client's shutdown is in that of its threads and connections, which comes last. */
    static boolean hasLeft(Thread leaving) {
        return Arrays.stream(leaving.getStackTrace())
            .anyMatch(at -> at.getClassName().endsWith(".MQClientInstance") && at.getMethodName().equals("shutdown"));
    }

    /** A topic's queues, by broker and number. */
    public static List<MessageQueue> queues(Collection<MessageQueue> queues) {
        List<MessageQueue> sorted = new ArrayList<>(queues);
        sorted.sort(Comparator.comparing(MessageQueue::getBrokerName).thenComparing(MessageQueue::getQueueId));
        return sorted;
    }
}
