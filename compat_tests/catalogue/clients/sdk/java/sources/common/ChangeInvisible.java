package compat;

import java.time.Duration;

/** Has messages that a simple consumer holds come again after `invisible` seconds. */
public final class ChangeInvisible implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Open open = Open.of(in);
        for (String id : in.all("id")) {
            try {
                open.simple().changeInvisibleDuration(open.held.get(id), Duration.ofSeconds(in.number("invisible")));
                out.event("changed").put("msgId", id).print();
            } catch (Exception refused) {
                out.failure("refused", refused);
            }
        }
    }
}
