package compat;

import org.apache.rocketmq.common.message.MessageExt;

/** What a consumer that stays has received since the last time, its offsets committed; from now on it takes all. */
public final class Collect implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Held held = Held.of(in.text("name"));
        held.takes = in.number("takes", 1) == 1;
        for (MessageExt message : held.collect(in.number("count"), in.number("wait", Clients.LONG), in.number("settle", 300))) {
            out.received(in.text("name"), message);
        }
        held.consumer.getDefaultMQPushConsumerImpl().persistConsumerOffset();
    }
}
