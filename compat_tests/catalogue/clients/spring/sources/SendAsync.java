package compat;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;

/** Sends all messages at once with asyncSend. */
public final class SendAsync implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        List<Wishes.Wish> all = Wishes.of(in);
        CountDownLatch answered = new CountDownLatch(all.size());
        try (SpringClient client = SpringClient.sending(in)) {
            for (Wishes.Wish wish : all) {
                client.template().asyncSend(wish.destination, wish.message, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        out.sent(result);
                        answered.countDown();
                    }

                    @Override
                    public void onException(Throwable problem) {
                        Wishes.refused(out, "refused", problem);
                        answered.countDown();
                    }
                });
            }
            out.event("answered").put("all", answered.await(Clients.LONG, TimeUnit.SECONDS)).print();
        }
    }
}
