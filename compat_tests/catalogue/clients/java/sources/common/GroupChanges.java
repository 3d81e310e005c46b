package compat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Consumers of one group join and leave: a; a and b; a, b and c; b and c; c. After each change the queues are waited for
 * until each is held by exactly one consumer and every consumer has its share; then one round of messages goes to every queue.
 */
final class GroupChanges {
    private final Map<String, DefaultMQPushConsumer> members = new LinkedHashMap<>();

    public static void groupChanges(Request in, Out out) throws Exception {
        new GroupChanges().run(in, out);
    }

    private void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        DefaultMQProducer producer = Clients.producer(in);
        int sent = 0;
        try {
            List<MessageQueue> queues = producer.fetchPublishMessageQueues(in.text("topic"));
            for (String change : new String[] {"+a", "+b", "+c", "-a", "-b"}) {
                String name = change.substring(1);
                if (change.startsWith("+")) {
                    members.put(name, join(in, inbox, name));
                } else {
                    Clients.leave(members.remove(name)::shutdown);
                }
                settle(in, out, change, queues.size());
                for (MessageQueue queue : queues) {
                    for (int i = 0; i < in.number("perQueue"); i++) {
                        producer.send(new org.apache.rocketmq.common.message.Message(in.text("topic"), "T", change,
                            (change + " " + Out.queue(queue) + " " + i).getBytes("UTF-8")), queue);
                        sent++;
                    }
                }
                inbox.await(sent, in.number("wait", Clients.LONG), 200);
                for (DefaultMQPushConsumer consumer : members.values()) {
                    consumer.getDefaultMQPushConsumerImpl().persistConsumerOffset(); // else the next taker may start behind
                }
                Thread.sleep(100);
            }
            out.event("total").put("sent", sent).put("received", inbox.count()).print();
        } finally {
            Clients.leave(producer::shutdown);
            Clients.leaveAll(members.values());
        }
    }

    private static DefaultMQPushConsumer join(Request in, Inbox inbox, String name) throws Exception {
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        consumer.registerMessageListener(inbox.listener(name));
        consumer.start();
        return consumer;
    }

    private void settle(Request in, Out out, String change, int queueCount) throws Exception {
        long began = System.currentTimeMillis();
        Map<String, Set<String>> held = held(in);
        while (!shared(held, queueCount) && System.currentTimeMillis() - began < in.number("wait", Clients.LONG) * 1000L) {
            Thread.sleep(20);
            held = held(in);
        }
        out.event("settled").put("change", change).put("ms", System.currentTimeMillis() - began).put("held", held).print();
    }

    private Map<String, Set<String>> held(Request in) {
        Map<String, Set<String>> held = new LinkedHashMap<>();
        members.forEach((name, consumer) -> {
            Set<String> mine = new TreeSet<>();
            for (MessageQueue queue : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet()) {
                if (queue.getTopic().equals(in.text("topic"))) {
                    mine.add(Out.queue(queue));
                }
            }
            held.put(name, mine);
        });
        return held;
    }

    private static boolean shared(Map<String, Set<String>> held, int queueCount) {
        List<String> all = new ArrayList<>();
        held.values().forEach(all::addAll);
        int least = held.values().stream().mapToInt(Set::size).min().orElse(0);
        int most = held.values().stream().mapToInt(Set::size).max().orElse(0);
        return all.size() == queueCount && new HashSet<>(all).size() == queueCount && most - least <= 1;
    }
}
