package compat;

import org.apache.rocketmq.spring.core.RocketMQTemplate;

/** Sends with syncSendOrderly, whose hash key is the message's wished number, through a selector that takes it as a number. */
public final class SendBySelector implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            RocketMQTemplate template = client.template();
            template.setMessageQueueSelector((queues, message, key) -> queues.get(Integer.parseInt((String) key) % queues.size()));
            for (Wishes.Wish wish : Wishes.of(in)) {
                out.sent(template.syncSendOrderly(wish.destination, wish.message, String.valueOf(wish.queue)));
            }
        }
    }
}
