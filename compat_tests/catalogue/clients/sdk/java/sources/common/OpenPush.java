package compat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.message.MessageView;

/**
 * Opens a push consumer by a name. A message's property `fail` says how many of its tries fail here, by a result or, where its
 * property `how` is "throw", by an exception; its property `slow` how many ms each takes.
 */
public final class OpenPush implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        List<Lines.Event> unread = new ArrayList<>();
        Map<String, AtomicInteger> tries = new ConcurrentHashMap<>();
        try {
            Open.put(in.text("name"), Sdk.PROVIDER.newPushConsumerBuilder().setClientConfiguration(Sdk.configuration(in))
                .setConsumerGroup(in.text("group")).setSubscriptionExpressions(Sdk.subscriptions(in))
                .setConsumptionThreadCount(in.number("threads", 8)).setMessageListener(message -> take(message, tries, unread, out))
                .build(), unread);
            out.event("opened").print();
        } catch (Exception refused) {
            out.failure("refused", refused);
        }
    }

    private static ConsumeResult take(
        MessageView message, Map<String, AtomicInteger> counts, List<Lines.Event> unread, Out out) {
        try {
            Lines.Event event = out.message("received", message);
            synchronized (unread) {
                unread.add(event);
            }
            Thread.sleep(Long.parseLong(message.getProperties().getOrDefault("slow", "0")));
        } catch (Exception problem) {
            out.failure("crashed", problem);
        }
        int tries = counts.computeIfAbsent(message.getMessageId().toString(), id -> new AtomicInteger()).incrementAndGet();
        if (tries > Integer.parseInt(message.getProperties().getOrDefault("fail", "0"))) {
            return ConsumeResult.SUCCESS;
        }
        if ("throw".equals(message.getProperties().get("how"))) {
            throw new IllegalStateException("as its message asks for");
        }
        return ConsumeResult.FAILURE;
    }
}
