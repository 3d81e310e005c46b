package compat;

import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;

/** Finds dead letters by key, each again by its ids, and sends each of them again to the topic it came from. */
public final class DeadLetters implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        String topic = in.text("topic");
        DefaultMQProducer producer = Clients.producer(in);
        try {
            for (String key : in.all("key")) {
                for (MessageExt letter : Query.byKey(producer, topic, key, 32, out)) {
                    String offsetId = ((MessageClientExt) letter).getOffsetMsgId();
                    out.message("by offset id", producer.viewMessage(topic, offsetId)).print();
                    out.message("by unique key", producer.viewMessage(topic, letter.getMsgId())).print();
                    String origin = letter.getProperty("RETRY_TOPIC");
                    out.sent(producer.send(new Message(origin, letter.getTags(), letter.getKeys(), letter.getBody())));
                }
            }
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
