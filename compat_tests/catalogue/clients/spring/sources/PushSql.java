package compat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * Listeners filter one topic by SQL, the n-th of the expressions `sql` in the group `group`_n; those refused at their start say so.
 * Once all are started, messages are sent, if there are any. `count` messages are awaited in all.
 */
public final class PushSql implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Inbox inbox = new Inbox(out);
        List<SpringClient> clients = new ArrayList<>();
        try {
            for (String sql : in.all("sql")) {
                String number = String.valueOf(clients.size());
                Map<String, Object> own = Map.of("compat.group", in.text("group") + "_" + number, "compat.expression", sql);
                try {
                    clients.add(SpringClient.started(
                        in, own, message -> inbox.take(number, Collections.singletonList(message)), Listeners.Sql.class));
                } catch (RuntimeException refused) {
                    clients.add(null);
                    Wishes.refused(out, "refused", refused);
                }
            }
            if (!in.all("message").isEmpty()) {
                send(in);
            }
            inbox.await(in);
        } finally {
            for (SpringClient client : clients) {
                if (client != null) {
                    client.close();
                }
            }
        }
    }

    private static void send(Request in) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            for (Wishes.Wish wish : Wishes.of(in)) {
                wish.send(client.template());
            }
        }
    }
}
