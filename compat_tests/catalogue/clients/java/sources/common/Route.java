package compat;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageQueue;

/** The queues a producer finds for a topic. */
public final class Route implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        try {
            List<String> queues = new ArrayList<>();
            for (MessageQueue queue : producer.fetchPublishMessageQueues(in.text("topic"))) {
                queues.add(Out.queue(queue));
            }
            out.event("route").put("queues", queues).print();
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
