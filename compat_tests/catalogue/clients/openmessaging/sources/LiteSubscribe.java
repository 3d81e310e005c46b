package compat;

import io.openmessaging.Message;
import io.openmessaging.consumer.PullConsumer;

/** A pull consumer attached to a topic receives `count` messages one by one, and acknowledges each. */
public final class LiteSubscribe implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Oms oms = new Oms(out);
        PullConsumer consumer = Oms.accessPoint(in).createPullConsumer(Oms.group(in));
        consumer.attachQueue(in.text("topic"));
        consumer.startup();
        try {
            long end = System.currentTimeMillis() + 1000L * in.number("wait", Clients.LONG);
            while (oms.count() < in.number("count") && System.currentTimeMillis() < end) {
                Message message = consumer.receive();
                if (message != null) {
                    oms.received("pull", message);
                    consumer.ack(message.sysHeaders().getString(Message.BuiltinKeys.MESSAGE_ID));
                }
            }
        } finally {
            consumer.shutdown();
        }
    }
}
