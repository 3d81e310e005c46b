package compat;

import org.apache.rocketmq.client.apis.producer.Producer;

/** Recalls messages by their handles. */
final class Recalls {
    private Recalls() {
    }

    public static void recall(Request in, Out out) throws Exception {
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
