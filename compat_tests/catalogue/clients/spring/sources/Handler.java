package compat;

import java.util.function.Consumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** What a program does with the messages that its listeners get, and how it sets their consumers up. */
final class Handler {
    private final Request in;
    private final Consumer<MessageExt> take;

    Handler(Request in, Consumer<MessageExt> take) {
        this.in = in;
        this.take = take;
    }

    void take(MessageExt message) {
        take.accept(message);
    }

    void prepare(DefaultMQPushConsumer consumer) {
        Clients.own(consumer, in);
        TraceShim.atOnce(consumer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        consumer.setMaxReconsumeTimes(in.number("most", consumer.getMaxReconsumeTimes()));
    }
}
