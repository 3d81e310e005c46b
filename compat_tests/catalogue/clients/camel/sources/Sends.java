package compat;

import java.util.Set;
import org.apache.camel.Exchange;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.component.rocketmq.RocketMQConstants;
import org.apache.camel.impl.DefaultCamelContext;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.message.Message;

/** Sends the messages one by one with a template that waits for each; a refusal is printed and the next is sent. */
final class Sends {
    private Sends() {
    }

    public static void sendSync(Request in, Out out) throws Exception {
        try (DefaultCamelContext context = new DefaultCamelContext()) {
            context.start();
            String group = Camel.encoded(in.text("producerGroup", "compat_producer"));
            String to = Camel.endpoint(in, "&waitForSendResult=true&producerGroup=" + group);
            try (ProducerTemplate template = context.createProducerTemplate()) {
                for (Messages.Wanted wanted : Messages.of(in)) {
                    check(wanted.message);
                    Exchange done = template.send(to, exchange -> {
                        exchange.getIn().setBody(wanted.message.getBody());
                        exchange.getIn().setHeader(RocketMQConstants.OVERRIDE_TAG, wanted.message.getTags());
                        exchange.getIn().setHeader(RocketMQConstants.OVERRIDE_MESSAGE_KEY, wanted.message.getKeys());
                    });
                    if (done.getException() == null) {
                        out.event("sent").put("status", "SEND_OK").put("topic", in.text("topic")).print();
                    } else {
                        out.failure("refused", known(done.getException()));
                    }
                }
            }
        }
    }

    private static void check(Message wished) {
        Set<String> sent = Set.of("TAGS", "KEYS", "WAIT");
        if (wished.getFlag() != 0 || !sent.containsAll(wished.getProperties().keySet())) {
            throw new IllegalArgumentException("the component sends tags and keys only");
        }
    }

    private static Throwable known(Throwable problem) {
        for (Throwable cause = problem; cause != null; cause = cause.getCause()) {
            if (cause instanceof MQBrokerException || cause instanceof MQClientException) {
                return cause;
            }
        }
        return problem;
    }
}
