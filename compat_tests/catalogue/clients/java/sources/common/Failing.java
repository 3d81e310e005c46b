package compat;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A push consumer that fails a message as often as its property `fail` says, in the way that its property `how` names, asking
 * for the delay level in its property `level`. With `mode=orderly` it suspends the queue for `suspend` ms; the other modes are
 * concurrent and broadcast.
 */
final class Failing {
    private Failing() {
    }

    public static void pushFailing(Request in, Out out) throws Exception {
        String mode = in.text("mode", "concurrent");
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        consumer.setMaxReconsumeTimes(in.number("most", consumer.getMaxReconsumeTimes()));
        Inbox inbox = new Inbox(out);
        if (mode.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> orderly(in, inbox, messages, context));
        } else {
            consumer.registerMessageListener(
                (MessageListenerConcurrently) (messages, context) -> concurrently(inbox, messages, context));
        }
        if (mode.equals("broadcast")) {
            Shim.broadcasting(consumer);
        }
        Clients.consuming(consumer, started -> inbox.await(in));
    }

    private static ConsumeConcurrentlyStatus concurrently(
            Inbox inbox, List<MessageExt> messages, ConsumeConcurrentlyContext context) {
        inbox.take("push", messages);
        MessageExt message = messages.get(0);
        if (!fails(message)) {
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        }
        context.setDelayLevelWhenNextConsume(Integer.parseInt(property(message, "level", "0")));
        switch (property(message, "how", "later")) {
            case "throw":
                throw new IllegalStateException("as asked for");
            case "null":
                return null;
            default:
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        }
    }

    private static ConsumeOrderlyStatus orderly(
            Request in, Inbox inbox, List<MessageExt> messages, ConsumeOrderlyContext context) {
        inbox.take("push", messages);
        if (!fails(messages.get(0))) {
            return ConsumeOrderlyStatus.SUCCESS;
        }
        context.setSuspendCurrentQueueTimeMillis(in.number("suspend"));
        return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
    }

    private static boolean fails(MessageExt message) {
        return message.getReconsumeTimes() < Integer.parseInt(property(message, "fail", "0"));
    }

    private static String property(MessageExt message, String name, String otherwise) {
        String value = message.getUserProperty(name);
        return value == null ? otherwise : value;
    }
}
