package compat;

import io.openmessaging.BytesMessage;
import io.openmessaging.exception.OMSRuntimeException;
import io.openmessaging.producer.Producer;

/** Sends the messages one by one, each waiting for the broker's answer; a refusal is printed and the next is sent. */
public final class SendSync implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Oms oms = new Oms(out);
        Producer producer = Oms.producer(in);
        try {
            for (BytesMessage message : Oms.messages(in, producer)) {
                try {
                    oms.sent(producer.send(message));
                } catch (OMSRuntimeException refused) {
                    out.failure("refused", refused);
                }
            }
        } finally {
            producer.shutdown();
        }
    }
}
