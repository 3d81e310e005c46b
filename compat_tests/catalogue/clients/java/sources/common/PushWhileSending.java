package compat;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;

/** A waiting push consumer is sent messages one at a time: prints how long each took from the send to the listener. */
public final class PushWhileSending implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        Inbox inbox = new Inbox(out);
        consumer.subscribe(in.text("topic"), "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                out.event("delay").put("ms", System.currentTimeMillis() - message.getBornTimestamp()).print();
            }
            inbox.take("push", messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        DefaultMQProducer producer = Clients.producer(in);
        try {
            Thread.sleep(in.number("idle", 1500)); // the pulls are held by the broker by now
            List<Messages.Wanted> all = Messages.of(in);
            for (int i = 0; i < all.size(); i++) {
                out.sent(producer.send(all.get(i).message));
                inbox.await(i + 1, in.number("wait", Clients.LONG), 0);
            }
            inbox.await(all.size(), 1, 100);
        } finally {
            Clients.leave(producer::shutdown);
            Clients.leave(consumer::shutdown);
        }
    }
}
