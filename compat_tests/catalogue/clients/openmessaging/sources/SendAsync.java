package compat;

import io.openmessaging.BytesMessage;
import io.openmessaging.Future;
import io.openmessaging.producer.Producer;
import io.openmessaging.producer.SendResult;
import java.util.ArrayList;
import java.util.List;

/** Sends all messages at once, and waits for what was promised. */
public final class SendAsync implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Oms oms = new Oms(out);
        Producer producer = Oms.producer(in);
        try {
            List<Future<SendResult>> promises = new ArrayList<>();
            for (BytesMessage message : Oms.messages(in, producer)) {
                promises.add(producer.sendAsync(message));
            }
            boolean all = true;
            for (Future<SendResult> promise : promises) {
                SendResult result = promise.get(1000L * Clients.LONG);
                if (promise.getThrowable() != null) {
                    out.failure("refused", promise.getThrowable());
                } else if (result == null) {
                    all = false;
                } else {
                    oms.sent(result);
                }
            }
            out.event("answered").put("all", all).print();
        } finally {
            producer.shutdown();
        }
    }
}
