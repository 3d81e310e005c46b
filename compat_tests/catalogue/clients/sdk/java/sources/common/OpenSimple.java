package compat;

import java.time.Duration;

/** Opens a simple consumer by a name; a receive of it waits `polling` seconds at most. */
public final class OpenSimple implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        try {
            Open.put(in.text("name"), Sdk.PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(Sdk.configuration(in))
                .setConsumerGroup(in.text("group")).setAwaitDuration(Duration.ofSeconds(in.number("polling", 5)))
                .setSubscriptionExpressions(Sdk.subscriptions(in)).build());
            out.event("opened").print();
        } catch (Exception refused) {
            out.failure("refused", refused);
        }
    }
}
