package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageQueue;

/** Creates a topic, of a type if one is asked for, the way a client's own admin call does: on every broker that serves the key topic. */
public final class CreateTopic implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            Shim.createTopic(producer, in.text("key", "TBW102"), in.text("topic"), in.number("queues"), in.text("type", ""));
            List<String> queues = new ArrayList<>();
            for (MessageQueue queue : Clients.queues(new java.util.HashSet<>(producer.fetchPublishMessageQueues(in.text("topic"))))) {
                queues.add(Out.queue(queue));
            }
            out.event("created").put("topic", in.text("topic")).put("queues", queues).print();
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
