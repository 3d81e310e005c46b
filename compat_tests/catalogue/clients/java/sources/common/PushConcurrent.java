package compat;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;

/** A push consumer with a concurrent listener takes `count` messages and leaves. */
public final class PushConcurrent implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        Inbox inbox = new Inbox(out);
        consumer.subscribe(in.text("topic"), in.text("expression", "*"));
        consumer.registerMessageListener(inbox.listener("push"));
        consumer.start();
        try {
            out.event("started").print();
            inbox.await(in);
        } finally {
            Clients.leave(consumer::shutdown);
        }
    }
}
