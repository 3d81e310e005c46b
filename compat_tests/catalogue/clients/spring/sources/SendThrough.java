package compat;

/** Sends the messages one by one at an endpoint that misbehaves: whatever is thrown is printed, and the next is sent. */
public final class SendThrough implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            for (Wishes.Wish wish : Wishes.of(in)) {
                try {
                    out.sent(wish.send(client.template()));
                } catch (RuntimeException failed) {
                    Wishes.refused(out, "failed", failed);
                }
            }
        }
    }
}
