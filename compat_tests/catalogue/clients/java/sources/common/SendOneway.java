package compat;

import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends the messages one-way: nobody answers. It leaves when the broker has them all, for that closes the connection under them. */
public final class SendOneway implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            long all = stored(producer, in) + Messages.of(in).size();
            for (Messages.Wanted wanted : Messages.of(in)) {
                producer.sendOneway(wanted.message);
                out.event("handed over").print();
            }
            long end = System.currentTimeMillis() + 1000L * in.number("wait", Clients.LONG);
            while (stored(producer, in) < all && System.currentTimeMillis() < end) {
                Thread.sleep(20);
            }
        } finally {
            Clients.leave(producer::shutdown);
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
