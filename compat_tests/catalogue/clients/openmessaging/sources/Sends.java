package compat;

import io.openmessaging.BytesMessage;
import io.openmessaging.exception.OMSRuntimeException;
import io.openmessaging.producer.Producer;

/** A producer sends the messages of its request. */
final class Sends {
    private Sends() {
    }

    /** One by one, each waiting for the broker's answer; a refusal is printed and the next is sent. */
    public static void sendSync(Request in, Out out) throws Exception {
        Producer producer = Oms.producer(in);
        try {
            for (BytesMessage message : Oms.messages(in, producer)) {
                try {
                    out.event("sent").put("msgId", producer.send(message).messageId()).print();
                } catch (OMSRuntimeException refused) {
                    out.failure("refused", refused);
                }
            }
        } finally {
            producer.shutdown();
        }
    }

    /** One-way. Leaving closes the connection under them, and the client does not report when they are stored. */
    public static void sendOneway(Request in, Out out) throws Exception {
        Producer producer = Oms.producer(in);
        try {
            for (BytesMessage message : Oms.messages(in, producer)) {
                producer.sendOneway(message);
                out.event("handed over").print();
            }
            Thread.sleep(1_000);
        } finally {
            producer.shutdown();
        }
    }
}
