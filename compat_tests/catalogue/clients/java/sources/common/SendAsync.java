package compat;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;

/** Sends all messages at once with callbacks. */
public final class SendAsync implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        List<Messages.Wanted> all = Messages.of(in);
        CountDownLatch answered = new CountDownLatch(all.size());
        try {
            Clients.connect(producer, in.text("topic"));
            for (Messages.Wanted wanted : all) {
                producer.send(wanted.message, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        out.sent(result);
                        answered.countDown();
                    }

                    @Override
                    public void onException(Throwable problem) {
                        out.failure("refused", problem);
                        answered.countDown();
                    }
                });
            }
            out.event("answered").put("all", answered.await(in.number("wait", Clients.LONG), TimeUnit.SECONDS)).print();
        } finally {
            Clients.leave(producer::shutdown);
        }
    }
}
