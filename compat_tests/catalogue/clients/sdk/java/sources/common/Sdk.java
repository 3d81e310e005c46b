package compat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientConfigurationBuilder;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.StaticSessionCredentialsProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.ProducerBuilder;
import org.apache.rocketmq.client.apis.producer.TransactionChecker;

/** What requests say of the endpoint, of producers, of messages and of subscriptions, for the SDK. */
final class Sdk {
    static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    /** Seconds that anything is waited for which comes sooner or later. */
    static final int LONG = 120;
    private static final boolean TLS = "1".equals(System.getenv("COMPAT_TLS"));

    private Sdk() {
    }

    static ClientConfiguration configuration(Request in) {
        ClientConfigurationBuilder builder = ClientConfiguration.newBuilder().setEndpoints(in.text("endpoints")).enableSsl(TLS)
            .setRequestTimeout(Duration.ofSeconds(in.number("timeout", 10)));
        if (!in.all("accessKey").isEmpty()) {
            builder.setCredentialProvider(new StaticSessionCredentialsProvider(in.text("accessKey"), in.text("secretKey")));
        }
        return builder.build();
    }

    static Producer producer(Request in, TransactionChecker checker) throws Exception {
        ProducerBuilder builder = PROVIDER.newProducerBuilder().setClientConfiguration(configuration(in))
            .setTopics(in.text("topic")).setMaxAttempts(in.number("attempts", 3));
        if (checker != null) {
            builder.setTransactionChecker(checker);
        }
        return builder.build();
    }

    /** The topics of a consumer, all with the one expression: tags, or `sql`. */
    static Map<String, FilterExpression> subscriptions(Request in) {
        FilterExpression expression = in.all("sql").isEmpty() ? new FilterExpression(in.text("expression", "*"))
            : new FilterExpression(in.text("sql"), FilterExpressionType.SQL92);
        Map<String, FilterExpression> all = new LinkedHashMap<>();
        for (String topic : in.all("topic")) {
            all.put(topic, expression);
        }
        return all;
    }

    /** The messages of a request, each with its text. */
    static List<Message> messages(Request in) throws Exception {
        List<Message> all = new ArrayList<>();
        long now = System.currentTimeMillis();
        for (String query : in.all("message")) {
            all.add(message(in.text("topic"), Request.decode(query), now));
        }
        return all;
    }

    private static Message message(String topic, Map<String, List<String>> fields, long now) throws Exception {
        MessageBuilder builder = PROVIDER.newMessageBuilder().setTopic(topic).setBody(Bodies.of(fields));
        if (fields.containsKey("tags")) {
            builder.setTag(Bodies.first(fields, "tags"));
        }
        if (fields.containsKey("keys")) {
            builder.setKeys(Bodies.first(fields, "keys").split(" "));
        }
        if (fields.containsKey("group")) {
            builder.setMessageGroup(Bodies.first(fields, "group"));
        }
        if (fields.containsKey("due")) {
            String due = Bodies.first(fields, "due");
            builder.setDeliveryTimestamp(due.startsWith("+") ? now + Long.parseLong(due.substring(1)) : Long.parseLong(due));
        }
        for (String name : fields.keySet()) {
            if (name.startsWith("p.")) {
                builder.addProperty(name.substring(2), Bodies.first(fields, name));
            }
        }
        return builder.build();
    }
}
