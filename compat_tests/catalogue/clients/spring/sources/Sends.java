package compat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessagingException;

/** A template sends the messages of its request in each of its ways; a refusal is printed, and the next message is sent. */
final class Sends {
    private Sends() {
    }

    /** With syncSend, each waiting for the broker's answer. */
    public static void sendSync(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            for (Wishes.Wish wish : Wishes.of(in)) {
                try {
                    out.sent(wish.send(client.template()));
                } catch (MessagingException refused) {
                    Wishes.refused(out, refused);
                }
            }
        }
    }

    /** All at once with asyncSend. */
    public static void sendAsync(Request in, Out out) throws Exception {
        List<Wishes.Wish> all = Wishes.of(in);
        CountDownLatch answered = new CountDownLatch(all.size());
        try (SpringClient client = SpringClient.sending(in)) {
            for (Wishes.Wish wish : all) {
                client.template().asyncSend(wish.destination, wish.message, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        out.sent(result);
                        answered.countDown();
                    }

                    @Override
                    public void onException(Throwable problem) {
                        Wishes.refused(out, problem);
                        answered.countDown();
                    }
                });
            }
            out.event("answered").put("all", answered.await(Clients.LONG, TimeUnit.SECONDS)).print();
        }
    }

    /** With sendOneWay. It leaves when the broker has them all: leaving closes the connection under them. */
    public static void sendOneway(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            DefaultMQProducer producer = client.template().getProducer();
            long all = Clients.stored(producer, in) + Messages.of(in).size();
            for (Wishes.Wish wish : Wishes.of(in)) {
                client.template().sendOneWay(wish.destination, wish.message);
                out.event("handed over").print();
            }
            Clients.awaitStored(producer, in, all);
        }
    }

    /** As one batch; all have the tags of the first, for a batch has one destination. */
    public static void sendBatch(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            List<Message<byte[]>> batch = new ArrayList<>();
            List<Wishes.Wish> all = Wishes.of(in);
            for (Wishes.Wish wish : all) {
                batch.add(wish.message);
            }
            try {
                out.sent(client.template().syncSend(all.get(0).destination, batch, 30_000));
            } catch (MessagingException refused) {
                Wishes.refused(out, refused);
            }
        }
    }

    /** With syncSendOrderly, whose hash key is the message's wished number, through a selector that takes it as a number. */
    public static void sendBySelector(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            RocketMQTemplate template = client.template();
            template.setMessageQueueSelector((queues, message, key) -> queues.get(Integer.parseInt((String) key) % queues.size()));
            for (Wishes.Wish wish : Wishes.of(in)) {
                out.sent(template.syncSendOrderly(wish.destination, wish.message, String.valueOf(wish.queue)));
            }
        }
    }

    /** Each to the queue it names, also to one that does not exist, with syncSendOrderly and a selector. */
    public static void sendToQueue(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            RocketMQTemplate template = client.template();
            template.setMessageQueueSelector((queues, message, key) -> {
                String broker = in.text("broker", queues.get(0).getBrokerName());
                return new MessageQueue(message.getTopic(), broker, Integer.parseInt((String) key));
            });
            for (Wishes.Wish wish : Wishes.of(in)) {
                try {
                    out.sent(template.syncSendOrderly(wish.destination, wish.message, String.valueOf(wish.queue)));
                } catch (MessagingException refused) {
                    Wishes.refused(out, refused);
                }
            }
        }
    }
}
