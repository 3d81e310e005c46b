package compat;

import io.openmessaging.Message;
import io.openmessaging.consumer.PullConsumer;
import io.openmessaging.consumer.PushConsumer;

/** Consumers take `count` messages of a topic, and leave. */
final class Pushes {
    private Pushes() {
    }

    /** A push consumer attached to the topic. */
    public static void pushConcurrent(Request in, Out out) throws Exception {
        Oms oms = new Oms(out);
        PushConsumer consumer = Oms.accessPoint(in).createPushConsumer(Oms.group(in));
        consumer.attachQueue(in.text("topic"), (message, context) -> {
            try {
                oms.received("push", message);
                context.ack();
            } catch (Exception problem) {
                out.failure("crashed", problem);
            }
        });
        consumer.startup();
        try {
            out.event("started").print();
            oms.await(in);
        } finally {
            consumer.shutdown();
        }
    }

    /** A pull consumer attached to the topic, which receives the messages one by one and acknowledges each. */
    public static void liteSubscribe(Request in, Out out) throws Exception {
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
