package compat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Transactions whose outcome the letters of a message's KEYS say. */
final class Transactions {
    private Transactions() {
    }

    /**
     * A producer sends the messages in transactions; the first letters of a message's KEYS say what is decided at once (c commit,
     * r rollback, anything else: unknown) and at each check after that, the last letter for all that follow: "uuc". With `last` 1 the
     * last letter is said at every check. Then it waits until `checks` checks came (`seconds` at most) and 300 ms for their answers.
     * A refusal is printed and the next is sent. With `helper` another producer of the group is there first, which sends that body in
     * a transaction that it commits; the other one then leaves as soon as it has sent.
     */
    public static void sendInTransaction(Request in, Out out) throws Exception {
        AtomicInteger checks = new AtomicInteger();
        TransactionMQProducer helper = null;
        if (!in.all("helper").isEmpty()) {
            helper = producer("helper", in, out, checks);
            Message own = new Message(in.text("topic"), "", "c", in.text("helper").getBytes("UTF-8"));
            out.sent(helper.sendMessageInTransaction(own, null));
            Thread.sleep(1_500); // until its heartbeat has reached the broker
        }
        TransactionMQProducer producer = producer("producer", in, out, checks);
        try {
            for (Messages.Wanted wanted : Messages.of(in)) {
                try {
                    out.sent(producer.sendMessageInTransaction(wanted.message, null));
                } catch (MQClientException refused) {
                    out.failure("refused", refused.getCause() == null ? refused : refused.getCause());
                }
            }
            if (helper != null) {
                Clients.leave(producer::shutdown);
            }
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("seconds", in.number("wait", Clients.LONG)));
            while (checks.get() < in.number("checks", 0) && System.nanoTime() < end) {
                Thread.sleep(10);
            }
            Thread.sleep(300);
        } finally {
            Clients.leave(helper == null ? producer::shutdown : helper::shutdown);
        }
    }

    private static TransactionMQProducer producer(String name, Request in, Out out, AtomicInteger checks) throws Exception {
        TransactionMQProducer producer = Clients.own(new TransactionMQProducer(in.text("producerGroup"), Clients.signer(in)), in);
        producer.setExecutorService(Executors.newSingleThreadExecutor());
        producer.setSendMsgTimeout(30_000);
        Map<String, Integer> steps = new ConcurrentHashMap<>();
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return state(message.getKeys(), 0);
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                try {
                    out.message("checked", message).put("by", name).put("transactionId", message.getTransactionId())
                        .put("at", System.currentTimeMillis()).print();
                } catch (Exception problem) {
                    out.failure("crashed", problem);
                }
                checks.incrementAndGet();
                int step = steps.merge(message.getTransactionId(), 1, Integer::sum);
                return state(message.getKeys(), in.number("last", 0) == 1 ? Integer.MAX_VALUE : step);
            }
        });
        producer.start();
        return producer;
    }

    private static LocalTransactionState state(String plan, int step) {
        char said = plan.charAt(Math.min(step, plan.length() - 1));
        return said == 'c' ? LocalTransactionState.COMMIT_MESSAGE
            : said == 'r' ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.UNKNOW;
    }
}
