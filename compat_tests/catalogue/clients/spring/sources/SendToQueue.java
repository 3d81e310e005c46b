package compat;

import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.springframework.messaging.MessagingException;

/** Sends each message to the queue it names, also to one that does not exist, with syncSendOrderly and a selector. */
public final class SendToQueue implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
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
                    Wishes.refused(out, "refused", refused);
                }
            }
        }
    }
}
