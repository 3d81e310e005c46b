package compat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;

/**
 * Push consumers of one group that stay on line between requests: `member` (several) is form-encoded too, with its `name`,
 * which ends its client id, its `topic`s and their `expression`s. Without members those of the group leave.
 */
public final class GroupMembers implements Scenario {
    private static final Map<String, List<DefaultMQPushConsumer>> MEMBERS = new HashMap<>();

    @Override
    public void run(Request in, Out out) throws Exception {
        List<DefaultMQPushConsumer> members = MEMBERS.computeIfAbsent(in.text("group"), group -> new ArrayList<>());
        if (in.all("member").isEmpty()) {
            for (DefaultMQPushConsumer consumer : members) {
                Clients.leave(consumer::shutdown);
            }
            members.clear();
        }
        for (String member : in.all("member")) {
            members.add(joined(in, out, Request.decode(member)));
        }
    }

    private static DefaultMQPushConsumer joined(Request in, Out out, Map<String, List<String>> fields) throws Exception {
        DefaultMQPushConsumer consumer = Clients.push(in);
        consumer.setInstanceName(fields.get("name").get(0));
        for (int i = 0; i < fields.get("topic").size(); i++) {
            consumer.subscribe(fields.get("topic").get(i), fields.get("expression").get(i));
        }
        consumer.registerMessageListener(new Inbox(out).listener(fields.get("name").get(0)));
        consumer.start();
        return consumer;
    }
}
