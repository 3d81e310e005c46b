package compat;

import org.springframework.messaging.MessagingException;

/** Sends the messages one by one with syncSend, each waiting for the broker's answer; a refusal is printed and the next is sent. */
public final class SendSync implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            for (Wishes.Wish wish : Wishes.of(in)) {
                try {
                    out.sent(wish.send(client.template()));
                } catch (MessagingException refused) {
                    Wishes.refused(out, "refused", refused);
                }
            }
        }
    }
}
