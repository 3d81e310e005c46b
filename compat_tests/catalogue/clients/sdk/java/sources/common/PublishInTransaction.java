package compat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/**
 * Sends each message in a transaction of its own. The letters of a message's key say what is decided at once (c commit, r
 * rollback, anything else: nothing yet) and at each check after that, the last letter for all that follow: "uuc". With `last` 1 the
 * last letter is said at every check. Then it waits until `checks` checks came, and a moment for their answers.
 */
public final class PublishInTransaction implements Scenario {
    private final Map<String, AtomicInteger> asked = new ConcurrentHashMap<>();
    private final AtomicInteger checks = new AtomicInteger();

    @Override
    public void run(Request in, Out out) throws Exception {
        try (Producer producer = Sdk.producer(in, message -> check(message, in.number("last", 0) == 1, out))) {
            for (Message message : Sdk.messages(in)) {
                try {
                    send(producer, message, out);
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

    private static void send(Producer producer, Message message, Out out) throws Exception {
        Transaction transaction = producer.beginTransaction();
        out.sent(Publish.text(message), producer.send(message, transaction));
        char said = plan(message.getKeys().iterator().next(), 0);
        if (said == 'c') {
            transaction.commit();
        } else if (said == 'r') {
            transaction.rollback();
        }
    }

    private TransactionResolution check(MessageView message, boolean last, Out out) {
        try {
            out.message("checked", message).print();
        } catch (Exception problem) {
            out.failure("crashed", problem);
        }
        int step = asked.computeIfAbsent(message.getMessageId().toString(), id -> new AtomicInteger()).incrementAndGet();
        checks.incrementAndGet();
        char said = plan(message.getKeys().iterator().next(), last ? Integer.MAX_VALUE : step);
        return said == 'c' ? TransactionResolution.COMMIT
            : said == 'r' ? TransactionResolution.ROLLBACK : TransactionResolution.UNKNOWN;
    }

    private static char plan(String key, int step) {
        return key.charAt(Math.min(step, key.length() - 1));
    }
}
