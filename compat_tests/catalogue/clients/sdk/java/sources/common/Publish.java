package compat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;

/**
 * Sends the messages one after another, `pause` ms apart; with `async` 1 all at once. A refused message is told, and sent again
 * with `again` 1 until it is taken, for `wait` seconds at most.
 */
public final class Publish implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        List<Message> messages = Sdk.messages(in);
        try (Producer producer = Sdk.producer(in, null)) {
            if (in.number("async", 0) == 1) {
                atOnce(producer, messages, out);
                return;
            }
            boolean again = in.number("again", 0) == 1;
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Sdk.LONG));
            for (Message message : messages) {
                while (!taken(producer, message, out) && again && System.nanoTime() < end) {
                    Thread.sleep(100);
                }
                Thread.sleep(in.number("pause", 0));
            }
        } catch (ClientException | IllegalStateException refused) { // the producer does not start
            out.failure("refused", refused);
        }
    }

    private static boolean taken(Producer producer, Message message, Out out) {
        try {
            out.sent(text(message), producer.send(message));
            return true;
        } catch (Exception refused) {
            out.failure("refused", refused);
            return false;
        }
    }

    private static void atOnce(Producer producer, List<Message> messages, Out out) {
        List<CompletableFuture<SendReceipt>> all = new ArrayList<>();
        for (Message message : messages) {
            all.add(producer.sendAsync(message));
        }
        for (int i = 0; i < all.size(); i++) {
            try {
                out.sent(text(messages.get(i)), all.get(i).get());
            } catch (Exception refused) {
                out.failure("refused", refused);
            }
        }
    }

    static String text(Message message) {
        return StandardCharsets.UTF_8.decode(message.getBody()).toString();
    }
}
