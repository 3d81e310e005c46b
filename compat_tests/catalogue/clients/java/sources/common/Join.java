package compat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Starts a push consumer that stays: `kind` is concurrent, orderly or broadcasting. The bodies "throw", "later" and "null" say what
 * its listener does; with `takes` 0 an orderly one takes only the messages "queue-0" until it is told to take more.
 */
public final class Join implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        consumer.setSuspendCurrentQueueTimeMillis(100);
        consumer.subscribe(in.text("topic"), "*");
        Held held = new Held(in.text("name"), consumer);
        held.takes = in.number("takes", 1) == 1;
        String kind = in.text("kind", "concurrent");
        if (kind.equals("broadcasting")) {
            Shim.broadcasting(consumer);
        }
        if (kind.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                if (!held.takes && !text(messages).endsWith("-0")) {
                    return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
                }
                held.add(of(in.text("topic"), messages));
                return react(messages, ConsumeOrderlyStatus.SUCCESS, ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                held.add(of(in.text("topic"), messages));
                return react(messages, ConsumeConcurrentlyStatus.CONSUME_SUCCESS, ConsumeConcurrentlyStatus.RECONSUME_LATER);
            });
        }
        consumer.start();
        out.event("started").put("clientId", consumer.buildMQClientId()).print();
    }

    private static <S> S react(List<MessageExt> messages, S success, S later) {
        String body = text(messages);
        if (body.equals("throw")) {
            throw new IllegalStateException("thrown on purpose");
        }
        return body.equals("null") ? null : body.equals("later") ? later : success;
    }

    /** Those of the topic it subscribes to: an administrator may have others consumed directly. */
    private static List<MessageExt> of(String topic, List<MessageExt> messages) {
        return messages.stream().filter(message -> topic.equals(message.getTopic())).collect(Collectors.toList());
    }

    private static String text(List<MessageExt> messages) {
        return new String(messages.get(0).getBody(), StandardCharsets.UTF_8);
    }
}
