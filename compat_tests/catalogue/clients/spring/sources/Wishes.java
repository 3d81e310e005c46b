package compat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.apache.rocketmq.spring.support.RocketMQHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageBuilder;

/** The messages that a request describes, as Spring's; the template makes RocketMQ's of them. */
final class Wishes {
    private static final long TIMEOUT = 30_000;

    private Wishes() {
    }

    static final class Wish {
        final String destination;
        final Message<byte[]> message;
        final int delay;
        final int queue;

        private Wish(Messages.Wanted wanted) {
            org.apache.rocketmq.common.message.Message raw = wanted.message;
            destination = raw.getTags() == null ? raw.getTopic() : raw.getTopic() + ":" + raw.getTags();
            MessageBuilder<byte[]> builder = MessageBuilder.withPayload(raw.getBody());
            if (raw.getKeys() != null) {
                builder.setHeader(RocketMQHeaders.KEYS, raw.getKeys());
            }
            builder.setHeader("FLAG", String.valueOf(raw.getFlag()));
            builder.setHeader("WAIT_STORE_MSG_OK", String.valueOf(raw.isWaitStoreMsgOK()));
            for (Map.Entry<String, String> property : raw.getProperties().entrySet()) {
                builder.setHeader(property.getKey(), property.getValue()); // the template leaves out those of the system
            }
            message = builder.build();
            delay = raw.getDelayTimeLevel();
            queue = wanted.queue;
        }

        SendResult send(RocketMQTemplate template) {
            return template.syncSend(destination, message, TIMEOUT, delay);
        }
    }

    static List<Wish> of(Request in) throws Exception {
        List<Wish> all = new ArrayList<>();
        for (Messages.Wanted wanted : Messages.of(in)) {
            all.add(new Wish(wanted));
        }
        return all;
    }

    /** Prints the client's exception that the template hides behind its own. */
    static void refused(Out out, Throwable problem) {
        Throwable cause = problem;
        while (cause.getCause() != null && !(cause instanceof MQBrokerException) && !(cause instanceof MQClientException)) {
            cause = cause.getCause();
        }
        out.failure("refused", cause instanceof MQBrokerException || cause instanceof MQClientException ? cause : problem);
    }
}
