package compat;

import java.util.ArrayList;
import java.util.List;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessagingException;

/** Sends all messages as one batch; all have the tags of the first, for a batch has one destination. A refusal is printed. */
public final class SendBatch implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        try (SpringClient client = SpringClient.sending(in)) {
            List<Message<byte[]>> batch = new ArrayList<>();
            List<Wishes.Wish> all = Wishes.of(in);
            for (Wishes.Wish wish : all) {
                batch.add(wish.message);
            }
            try {
                out.sent(client.template().syncSend(all.get(0).destination, batch, 30_000));
            } catch (MessagingException refused) {
                Wishes.refused(out, "refused", refused);
            }
        }
    }
}
