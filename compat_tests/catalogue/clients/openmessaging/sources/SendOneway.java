package compat;

import io.openmessaging.BytesMessage;
import io.openmessaging.producer.Producer;

/** Sends the messages one-way. Leaving closes the connection under them, and the client does not tell when they are stored. */
public final class SendOneway implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
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
