package compat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** Producers of 5.x. */
final class Producers {
    private Producers() {
    }

    /**
     * Sends the messages one after another, `pause` ms apart; with `async` 1 all at once. A refused message is printed, and sent again
     * with `again` 1 until it is taken, for `wait` seconds at most.
     */
    public static void publish(Request in, Out out) throws Exception {
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

    private static String text(Message message) {
        return StandardCharsets.UTF_8.decode(message.getBody()).toString();
    }

    /**
     * Sends each message in a separate transaction. The letters of a message's key say what is decided at once (c
     * commit, r
     * rollback, anything else: nothing yet) and at each check after that, the last letter for all that follow: "uuc". With `last` 1 the
     * last letter is said at every check. Then it waits until `checks` checks came, and a moment for their answers.
     */
    public static void publishInTransaction(Request in, Out out) throws Exception {
        Map<String, AtomicInteger> steps = new ConcurrentHashMap<>();
        AtomicInteger checks = new AtomicInteger();
        try (Producer producer = Sdk.producer(in, message -> check(message, in.number("last", 0) == 1, steps, checks, out))) {
            for (Message message : Sdk.messages(in)) {
                try {
                    sendAndDecide(producer, message, out);
                } catch (Exception refused) {
                    out.failure("refused", refused);
                }
            }
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Sdk.LONG));
            while (checks.get() < in.number("checks", 0) && System.nanoTime() < end) {
                Thread.sleep(10);
            }
            Thread.sleep(300);
        }
    }

    private static void sendAndDecide(Producer producer, Message message, Out out) throws Exception {
        Transaction transaction = producer.beginTransaction();
        out.sent(text(message), producer.send(message, transaction));
        char said = plan(message.getKeys().iterator().next(), 0);
        if (said == 'c') {
            transaction.commit();
        } else if (said == 'r') {
            transaction.rollback();
        }
    }

    private static TransactionResolution check(
            MessageView message, boolean last, Map<String, AtomicInteger> steps, AtomicInteger checks, Out out) {
        try {
            out.message("checked", message).print();
        } catch (Exception problem) {
            out.failure("crashed", problem);
        }
        int step = steps.computeIfAbsent(message.getMessageId().toString(), id -> new AtomicInteger()).incrementAndGet();
        checks.incrementAndGet();
        char said = plan(message.getKeys().iterator().next(), last ? Integer.MAX_VALUE : step);
        return said == 'c' ? TransactionResolution.COMMIT
            : said == 'r' ? TransactionResolution.ROLLBACK : TransactionResolution.UNKNOWN;
    }

    private static char plan(String key, int step) {
        return key.charAt(Math.min(step, key.length() - 1));
    }
}
