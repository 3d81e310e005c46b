package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** Two broadcasting consumers of one group, then the messages: each consumer gets them all. */
public final class PushBroadcast implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (String name : new String[] {"a", "b"}) {
                DefaultMQPushConsumer consumer = Clients.push(in);
                Shim.broadcasting(consumer);
                consumer.subscribe(in.text("topic"), "*");
                consumer.registerMessageListener(inbox.listener(name));
                consumer.start();
                consumers.add(consumer);
            }
            List<Messages.Wanted> all = Messages.of(in);
            for (Messages.Wanted wanted : all) {
                out.sent(producer.send(wanted.message));
            }
            inbox.await(2 * all.size(), in.number("wait", Clients.LONG), 300);
        } finally {
            Clients.leave(producer::shutdown);
            for (DefaultMQPushConsumer consumer : consumers) {
                Clients.leave(consumer::shutdown);
            }
        }
    }
}
