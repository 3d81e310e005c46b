package compat;

import io.openmessaging.consumer.PushConsumer;

/** A push consumer attached to a topic takes `count` messages and leaves. */
public final class PushConcurrent implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
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
}
