package compat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.spring.annotation.RocketMQTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionState;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessagingException;

/**
 * Sends the messages with sendMessageInTransaction; the first letters of a message's KEYS say what is decided at once (c commit,
 * r rollback, anything else: unknown) and at each check after that, the last letter for all that follow. With `last` 1 the last
 * letter is said at every check. Then it waits until `checks` checks came (`seconds` at most) and 300 ms for their answers.
 */
final class Transactions {
    private Transactions() {
    }

    public static void sendInTransaction(Request in, Out out) throws Exception {
        if (!in.all("helper").isEmpty()) {
            throw new IllegalArgumentException("this program has no second producer of the group");
        }
        Plans plans = new Plans(out, in.number("last", 0) == 1);
        try (SpringClient client = SpringClient.started(in, Map.of("compat.plans", plans), message -> { }, Deciding.class)) {
            for (Wishes.Wish wish : Wishes.of(in)) {
                try {
                    out.sent(client.template().sendMessageInTransaction(wish.destination, wish.message, null));
                } catch (MessagingException refused) { // around the client's, which is around the broker's
                    Throwable cause = refused.getCause();
                    Wishes.refused(out, cause != null && cause.getCause() != null ? cause.getCause() : refused);
                }
            }
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("seconds", Clients.LONG));
            while (plans.checks.get() < in.number("checks", 0) && System.nanoTime() < end) {
                Thread.sleep(10);
            }
            Thread.sleep(300);
        }
    }

    private static final class Plans {
        private final Out out;
        private final boolean last;
        private final AtomicInteger checks = new AtomicInteger();
        private final Map<String, Integer> steps = new ConcurrentHashMap<>();

        private Plans(Out out, boolean last) {
            this.out = out;
            this.last = last;
        }

        private RocketMQLocalTransactionState checked(Message<?> message) {
            String id = header(message, "TRANSACTION_ID");
            out.event("checked").put("by", "producer").put("transactionId", id).put("keys", header(message, "KEYS"))
                .put("tags", header(message, "TAGS")).put("topic", header(message, "TOPIC"))
                .put("queueId", Integer.valueOf(header(message, "QUEUE_ID")))
                .put("text", new String((byte[]) message.getPayload(), java.nio.charset.StandardCharsets.UTF_8))
                .put("at", System.currentTimeMillis()).print();
            checks.incrementAndGet();
            int step = steps.merge(id, 1, Integer::sum);
            return state(header(message, "KEYS"), last ? Integer.MAX_VALUE : step);
        }

        private static String header(Message<?> message, String name) {
            Object value = message.getHeaders().get("rocketmq_" + name);
            return value == null ? null : value.toString();
        }

        private static RocketMQLocalTransactionState state(String plan, int step) {
            char said = plan.charAt(Math.min(step, plan.length() - 1));
            return said == 'c' ? RocketMQLocalTransactionState.COMMIT
                : said == 'r' ? RocketMQLocalTransactionState.ROLLBACK : RocketMQLocalTransactionState.UNKNOWN;
        }
    }

    @RocketMQTransactionListener
    static class Deciding implements RocketMQLocalTransactionListener {
        @Autowired
        private org.springframework.core.env.Environment environment;

        private Plans plans() {
            return environment.getRequiredProperty("compat.plans", Plans.class);
        }

        @Override
        public RocketMQLocalTransactionState executeLocalTransaction(Message message, Object argument) {
            return Plans.state(Plans.header(message, "KEYS"), 0);
        }

        @Override
        public RocketMQLocalTransactionState checkLocalTransaction(Message message) {
            return plans().checked(message);
        }
    }
}
