package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/**
 * Push consumers filter one topic by SQL, the n-th of the expressions `sql` in the group `group`_n; those refused at their
 * start say so. Once all are started, messages are sent, if there are any. `count` messages are awaited in all.
 */
public final class PushSql implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        try {
            for (String sql : in.all("sql")) {
                consumers.add(started(in, out, inbox, sql, consumers.size()));
            }
            send(in);
            inbox.await(in);
        } finally {
            List<Thread> leaving = new ArrayList<>();
            for (DefaultMQPushConsumer consumer : consumers) {
                leaving.add(new Thread(consumer::shutdown));
            }
            leaving.forEach(Thread::start);
            for (Thread each : leaving) {
                each.join(400);
            }
        }
    }

    private static DefaultMQPushConsumer started(Request in, Out out, Inbox inbox, String sql, int number) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        consumer.setConsumerGroup(in.text("group") + "_" + number);
        consumer.subscribe(in.text("topic"), MessageSelector.bySql(sql));
        consumer.registerMessageListener(inbox.listener(String.valueOf(number)));
        try {
            consumer.start();
        } catch (MQClientException refused) {
            out.failure("refused", refused);
        }
        return consumer;
    }

    private static void send(Request in) throws Exception {
        if (in.all("message").isEmpty()) {
            return;
        }
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                producer.send(wanted.message);
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
