package compat;

import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends the messages with sendOneWay, and leaves when the broker has them all: leaving closes the connection under them. */
public final class SendOneway implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            DefaultMQProducer producer = client.template().getProducer();
            long all = stored(producer, in) + Messages.of(in).size();
            for (Wishes.Wish wish : Wishes.of(in)) {
                client.template().sendOneWay(wish.destination, wish.message);
                out.event("handed over").print();
            }
            long end = System.currentTimeMillis() + 1000L * Clients.LONG;
            while (stored(producer, in) < all && System.currentTimeMillis() < end) {
                Thread.sleep(20);
            }
        }
    }

    private static long stored(DefaultMQProducer producer, Request in) throws Exception {
        long count = 0;
        for (MessageQueue queue : producer.fetchPublishMessageQueues(in.text("topic"))) {
            count += producer.maxOffset(queue);
        }
        return count;
    }
}
