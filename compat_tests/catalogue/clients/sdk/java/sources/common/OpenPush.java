package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.message.MessageView;

/**
 * Opens a push consumer by a name. A message's property `fail` says how many of its attempts fail, by a result or, where its
 * property `how` is "throw", by an exception; its property `slow` how many ms each takes.
 */
public final class OpenPush implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        List<Lines.Event> unread = new ArrayList<>();
        try {
            Open.put(in.text("name"), Sdk.PROVIDER.newPushConsumerBuilder().setClientConfiguration(Sdk.configuration(in))
                .setConsumerGroup(in.text("group")).setSubscriptionExpressions(Sdk.subscriptions(in))
                .setConsumptionThreadCount(in.number("threads", 8)).setMessageListener(message -> take(message, unread, out))
                .build(), unread);
            out.event("opened").print();
        } catch (Exception refused) {
            out.failure("refused", refused);
        }
    }

    private static ConsumeResult take(MessageView message, List<Lines.Event> unread, Out out) {
        try {
            Lines.Event event = out.message("received", message);
            synchronized (unread) {
                unread.add(event);
            }
            Thread.sleep(Long.parseLong(message.getProperties().getOrDefault("slow", "0")));
        } catch (Exception problem) {
            out.failure("crashed", problem);
        }
        if (message.getDeliveryAttempt() > Integer.parseInt(message.getProperties().getOrDefault("fail", "0"))) {
            return ConsumeResult.SUCCESS;
        }
        if ("throw".equals(message.getProperties().get("how"))) {
            throw new IllegalStateException("as its message asks for");
        }
        return ConsumeResult.FAILURE;
    }
}
