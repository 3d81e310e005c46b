import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/** One producer with its default settings: sync sends of several threads, async sends, batches. */
final class SendBench {
    /** What a thread does again and again; its latency is recorded. */
    private interface Send {
        void once() throws Exception;
    }

    private final Settings settings;
    private final byte[] body;
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    private volatile boolean measuring;
    private volatile boolean stopping;

    SendBench(Settings settings) {
        this.settings = settings;
        body = new byte[settings.size];
        Arrays.fill(body, (byte) 'x');
    }

    private DefaultMQProducer producer() throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("bench_producer");
        producer.setNamesrvAddr(settings.nameServer);
        producer.setInstanceName("p" + settings.unique);
        producer.start();
        return producer;
    }

    private Message message() {
        return new Message(settings.topic, body);
    }

    private void check(SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException("send status " + result.getSendStatus());
        }
    }

    private void failed(Exception e) {
        failure.compareAndSet(null, e);
        stopping = true;
    }

    /** Lets the warm-up and the measured time pass; returns seconds measured and the server's CPU seconds in them. */
    private double[] measure() throws Exception {
        pause(settings.warmup);
        double cpu = Result.cpuSeconds(settings.serverPid);
        long from = System.nanoTime();
        measuring = true;
        pause(settings.seconds);
        measuring = false;
        double seconds = (System.nanoTime() - from) / 1e9;
        cpu = Result.cpuSeconds(settings.serverPid) - cpu;
        stopping = true;
        return new double[] {seconds, cpu};
    }

    private void pause(double seconds) throws InterruptedException {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        while (!stopping && System.nanoTime() < until) {
            TimeUnit.NANOSECONDS.sleep(Math.min(50_000_000L, Math.max(1, until - System.nanoTime())));
        }
    }

    private Result threads(Send send, int messagesEach) throws Exception {
        Latencies[] latencies = new Latencies[settings.threads];
        Thread[] threads = new Thread[settings.threads];
        for (int i = 0; i < threads.length; i++) {
            Latencies mine = latencies[i] = new Latencies();
            threads[i] = new Thread(() -> repeat(send, mine));
            threads[i].start();
        }
        double[] took = measure();
        for (Thread thread : threads) {
            thread.join();
        }
        rethrow();
        long[] all = Latencies.join(latencies);
        return new Result((long) all.length * messagesEach, took[0], took[1], 0, all);
    }

    private void repeat(Send send, Latencies mine) {
        try {
            while (!stopping) {
                long from = System.nanoTime();
                send.once();
                if (measuring) {
                    mine.add(System.nanoTime() - from);
                }
            }
        } catch (Exception e) {
            failed(e);
        }
    }

    private void rethrow() throws Exception {
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    Result sync() throws Exception {
        DefaultMQProducer producer = producer();
        try {
            return threads(() -> check(producer.send(message())), 1);
        } finally {
            producer.shutdown();
        }
    }

    Result batch() throws Exception {
        DefaultMQProducer producer = producer();
        try {
            return threads(() -> check(producer.send(messages())), settings.batch);
        } finally {
            producer.shutdown();
        }
    }

    private List<Message> messages() {
        List<Message> list = new ArrayList<>(settings.batch);
        for (int i = 0; i < settings.batch; i++) {
            list.add(message());
        }
        return list;
    }

    /** One sending thread keeps a bounded number of messages in flight. */
    Result async() throws Exception {
        DefaultMQProducer producer = producer();
        Semaphore room = new Semaphore(settings.inFlight);
        AtomicLong acknowledged = new AtomicLong();
        // Answers come in several threads of the client.
        Queue<Latencies> all = new ConcurrentLinkedQueue<>();
        ThreadLocal<Latencies> latencies = ThreadLocal.withInitial(() -> {
            Latencies mine = new Latencies();
            all.add(mine);
            return mine;
        });
        Thread sender = new Thread(() -> {
            try {
                while (!stopping) {
                    room.acquire();
                    long from = System.nanoTime();
                    producer.send(message(), new SendCallback() {
                        @Override
                        public void onSuccess(SendResult result) {
                            if (measuring) {
                                acknowledged.incrementAndGet();
                                latencies.get().add(System.nanoTime() - from);
                            }
                            if (result.getSendStatus() != SendStatus.SEND_OK) {
                                failed(new IllegalStateException("send status " + result.getSendStatus()));
                            }
                            room.release();
                        }

                        @Override
                        public void onException(Throwable e) {
                            failed(new IllegalStateException(e));
                            room.release();
                        }
                    });
                }
                room.tryAcquire(settings.inFlight, 10, TimeUnit.SECONDS);
            } catch (Exception e) {
                failed(e);
            }
        });
        try {
            sender.start();
            double[] took = measure();
            sender.join();
            rethrow();
            // All were answered, or ten seconds are over: no thread adds to its latencies any more.
            return new Result(acknowledged.get(), took[0], took[1], 0, Latencies.join(all.toArray(new Latencies[0])));
        } finally {
            producer.shutdown();
        }
    }
}
