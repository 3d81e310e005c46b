package compat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * One thread a queue sends messages numbered from `first` on, each when the last one is acknowledged and printed, until `each`
 * were sent or a send fails; nothing is sent twice. The body is "queue-number"; `ms` is how long the send took. After each they may `pause`.
 */
public final class SendNumbered implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        producer.setSendMsgTimeout(30_000);
        try {
            Clients.connect(producer, in.text("topic"));
            List<Thread> threads = new ArrayList<>();
            for (MessageQueue queue : Clients.queues(new java.util.HashSet<>(producer.fetchPublishMessageQueues(in.text("topic"))))) {
                Thread thread = new Thread(() -> send(producer, queue, in, out), "queue " + queue.getQueueId());
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }

    private static void send(DefaultMQProducer producer, MessageQueue queue, Request in, Out out) {
        int first = in.number("first", 0);
        for (int number = first; number < first + in.number("each"); number++) {
            String body = queue.getQueueId() + "-" + number;
            try {
                long start = System.nanoTime();
                SendResult result = producer.send(new Message(queue.getTopic(), body.getBytes(StandardCharsets.UTF_8)), queue);
                double took = (System.nanoTime() - start) / 1e6;
                out.sent(out.event("sent").put("text", body).put("ms", took), result);
                Thread.sleep(in.number("pause", 0));
            } catch (Exception failed) {
                out.failure("failed", failed);
                return;
            }
        }
    }
}
