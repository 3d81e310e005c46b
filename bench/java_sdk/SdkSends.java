import java.util.Arrays;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.producer.Producer;

/** One producer with its default settings: sync sends of several threads, async sends. */
final class SdkSends {
    private final ClientServiceProvider provider = ClientServiceProvider.loadService();
    private final Settings settings;
    private final Timed timed;
    private final byte[] body;

    SdkSends(Settings settings) {
        this.settings = settings;
        timed = new Timed(settings);
        body = new byte[settings.size];
        Arrays.fill(body, (byte) 'x');
    }

    static ClientConfiguration configuration(Settings settings) {
        return ClientConfiguration.newBuilder().setEndpoints(settings.front).enableSsl(false).build();
    }

    private Producer producer() throws Exception {
        return provider.newProducerBuilder().setClientConfiguration(configuration(settings)).setTopics(settings.topic)
            .build();
    }

    private Message message() {
        return provider.newMessageBuilder().setTopic(settings.topic).setBody(body).build();
    }

    Result sync() throws Exception {
        try (Producer producer = producer()) {
            return timed.threads(() -> {
                producer.send(message());
                timed.count(1);
            });
        }
    }

    Result async() throws Exception {
        try (Producer producer = producer()) {
            return timed.inFlight(done -> producer.sendAsync(message()).whenComplete(
                (receipt, error) -> done.end(error == null ? null : new IllegalStateException(error))));
        }
    }
}
