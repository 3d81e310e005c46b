package compat;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/** A push consumer takes up to `batch` messages at once, of pulls of up to `pull`; prints how many its listener got each time. */
public final class PushBatches implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        consumer.setPullBatchSize(in.number("pull"));
        Inbox inbox = new Inbox(out);
        consumer.subscribe(in.text("topic"), "*");
        if (in.text("mode").equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                take(messages, inbox, out);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                take(messages, inbox, out);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        try {
            inbox.await(in);
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }

    private static void take(List<MessageExt> messages, Inbox inbox, Out out) {
        out.event("batch").put("size", messages.size()).print();
        inbox.take("push", messages);
    }
}
