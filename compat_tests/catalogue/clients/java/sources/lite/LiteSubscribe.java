package compat;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** A lite pull consumer subscribes, polls `count` messages, commits and leaves. */
public final class LiteSubscribe implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultLitePullConsumer consumer = Clients.own(new DefaultLitePullConsumer(in.text("group"), Clients.signer(in)), in);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(in.text("topic"), in.text("expression", "*"));
        consumer.setAutoCommit(false);
        consumer.start();
        try {
            long end = System.currentTimeMillis() + 1000L * in.number("wait", Clients.LONG);
            int count = 0;
            while (count < in.number("count") && System.currentTimeMillis() < end) {
                List<MessageExt> messages = consumer.poll(500);
                for (MessageExt message : messages) {
                    out.received("lite", message);
                }
                count += messages.size();
            }
            for (MessageExt message : consumer.poll(in.number("settle", 300))) {
                out.received("lite", message);
            }
            consumer.commitSync();
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }
}
