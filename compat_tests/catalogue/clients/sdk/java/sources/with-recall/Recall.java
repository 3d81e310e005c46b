package compat;

import org.apache.rocketmq.client.apis.producer.Producer;

/** Recalls messages by their handles. */
public final class Recall implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        try (Producer producer = Sdk.producer(in, null)) {
            for (String handle : in.all("handle")) {
                try {
                    out.event("recalled").put("msgId", producer.recallMessage(in.text("topic"), handle).getMessageId().toString())
                        .print();
                } catch (Exception refused) {
                    out.failure("refused", refused);
                }
            }
        }
    }
}
