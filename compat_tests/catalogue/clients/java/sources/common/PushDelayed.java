package compat;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** A waiting push consumer is sent delayed messages, while another producer sends plain ones to the topic `busy` all the time. */
public final class PushDelayed implements Scenario {
    private static final byte[] PLAIN = "plain".repeat(50).getBytes(StandardCharsets.UTF_8);

    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        Inbox inbox = new Inbox(out);
        consumer.subscribe(in.text("topic"), in.text("expression", "*"));
        consumer.registerMessageListener(inbox.listener("push"));
        consumer.start();
        DefaultMQProducer producer = Clients.producer(in);
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger busy = new AtomicInteger();
        Thread other = new Thread(() -> keepBusy(in, over, busy), "busy");
        other.start();
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                out.sent(producer.send(wanted.message));
            }
            inbox.await(in);
        } finally {
            over.set(true);
            other.join();
            out.event("busy").put("sent", busy.get()).print();
            Clients.leave(producer::shutdown);
            Clients.leave(consumer::shutdown);
        }
    }

    private static void keepBusy(Request in, AtomicBoolean over, AtomicInteger sent) {
        try {
            DefaultMQProducer producer = Clients.producer(in);
            while (!over.get()) {
                producer.send(new Message(in.text("busy"), PLAIN));
                sent.incrementAndGet();
            }
            Clients.leave(producer::shutdown);
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
    }
}
