package compat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** Producers send the messages of their request in each of the client's ways; a refusal is printed, and the next message is sent. */
final class Sends {
    private Sends() {
    }

    /** One by one, each waiting for the broker's answer. */
    public static void sendSync(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(producer.send(wanted.message));
                } catch (MQBrokerException | MQClientException refused) {
                    out.failure("refused", refused);
                }
            }
        });
    }

    /** One by one, with a `pause` of ms between them, at an endpoint that misbehaves: whatever is thrown is printed. */
    public static void sendThrough(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(out.event("sent").put("text", new String(wanted.message.getBody(), StandardCharsets.UTF_8)),
                        producer.send(wanted.message));
                } catch (Exception failed) { // a broken answer may end in any
                    out.failure("failed", failed);
                }
                Thread.sleep(in.number("pause", 0));
            }
        });
    }

    /** Each to the queue it names, also to one that doesn't exist on the broker. */
    public static void sendToQueue(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            String broker = in.text("broker", producer.fetchPublishMessageQueues(in.text("topic")).get(0).getBrokerName());
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(producer.send(wanted.message, new MessageQueue(in.text("topic"), broker, wanted.queue)));
                } catch (MQBrokerException refused) {
                    out.failure("refused", refused);
                }
            }
        });
    }

    /** Each through a selector that picks a queue by the message's wished number. */
    public static void sendBySelector(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            for (Messages.Wanted wanted : Messages.of(in)) {
                out.sent(producer.send(wanted.message,
                    (queues, message, number) -> queues.get((Integer) number % queues.size()), wanted.queue));
            }
        });
    }

    /** All as one batch. */
    public static void sendBatch(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            List<Message> batch = new ArrayList<>();
            for (Messages.Wanted wanted : Messages.of(in)) {
                batch.add(wanted.message);
            }
            try {
                out.sent(producer.send(batch));
            } catch (MQBrokerException refused) {
                out.failure("refused", refused);
            }
        });
    }

    /** One-way, without answers. It leaves when the broker has them all, for that closes the connection under them. */
    public static void sendOneway(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            long all = Clients.stored(producer, in) + Messages.of(in).size();
            for (Messages.Wanted wanted : Messages.of(in)) {
                producer.sendOneway(wanted.message);
                out.event("handed over").print();
            }
            Clients.awaitStored(producer, in, all);
        });
    }

    /** All at once with callbacks. */
    public static void sendAsync(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            List<Messages.Wanted> all = Messages.of(in);
            CountDownLatch answered = new CountDownLatch(all.size());
            Clients.connect(producer, in.text("topic"));
            for (Messages.Wanted wanted : all) {
                producer.send(wanted.message, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        out.sent(result);
                        answered.countDown();
                    }

                    @Override
                    public void onException(Throwable problem) {
                        out.failure("refused", problem);
                        answered.countDown();
                    }
                });
            }
            out.event("answered").put("all", answered.await(in.number("wait", Clients.LONG), TimeUnit.SECONDS)).print();
        });
    }

    /**
     * One thread a queue sends messages numbered from `first` on, each when the last one is acknowledged and printed, until `each`
     * were sent or a send fails; nothing is sent twice. The body is "queue-number"; `ms` is how long the send took. After each they may `pause`.
     */
    public static void sendNumbered(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            producer.setSendMsgTimeout(30_000);
            Clients.connect(producer, in.text("topic"));
            List<Thread> threads = new ArrayList<>();
            for (MessageQueue queue : Clients.queues(producer.fetchPublishMessageQueues(in.text("topic")))) {
                Thread thread = new Thread(() -> numbered(producer, queue, in, out), "queue " + queue.getQueueId());
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        });
    }

    private static void numbered(DefaultMQProducer producer, MessageQueue queue, Request in, Out out) {
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

    /** Creates a topic, of a `type` if there is one, the way a client's own admin call does: on every broker that serves the key topic. */
    public static void createTopic(Request in, Out out) throws Exception {
        Clients.producing(in, producer -> {
            Shim.createTopic(producer, in.text("key", "TBW102"), in.text("topic"), in.number("queues"), in.text("type", ""));
            List<String> queues = new ArrayList<>();
            for (MessageQueue queue : Clients.queues(producer.fetchPublishMessageQueues(in.text("topic")))) {
                queues.add(Out.queue(queue));
            }
            out.event("created").put("topic", in.text("topic")).put("queues", queues).print();
        });
    }
}
