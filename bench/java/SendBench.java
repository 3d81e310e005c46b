import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/** One producer with its default settings: sync sends of several threads, async sends, batches. */
final class SendBench {
    private final Settings settings;
    private final Timed timed;
    private final byte[] body;

    SendBench(Settings settings) {
        this.settings = settings;
        timed = new Timed(settings);
        body = new byte[settings.size];
        Arrays.fill(body, (byte) 'x');
    }

    private DefaultMQProducer producer() throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("bench_producer");
        producer.setNamesrvAddr(settings.nameServer);
        producer.setInstanceName("p" + settings.unique);
        producer.start();
        return producer;
    }

    private Message message() {
        return new Message(settings.topic, body);
    }

    private void check(SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException("send status " + result.getSendStatus());
        }
    }

    Result sync() throws Exception {
        DefaultMQProducer producer = producer();
        try {
            return timed.threads(() -> {
                check(producer.send(message()));
                timed.count(1);
            });
        } finally {
            producer.shutdown();
        }
    }

    Result batch() throws Exception {
        DefaultMQProducer producer = producer();
        try {
            return timed.threads(() -> {
                check(producer.send(messages()));
                timed.count(settings.batch);
            });
        } finally {
            producer.shutdown();
        }
    }

    private List<Message> messages() {
        List<Message> list = new ArrayList<>(settings.batch);
        for (int i = 0; i < settings.batch; i++) {
            list.add(message());
        }
        return list;
    }

    Result async() throws Exception {
        DefaultMQProducer producer = producer();
        try {
            return timed.inFlight(done -> producer.send(message(), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    boolean ok = result.getSendStatus() == SendStatus.SEND_OK;
                    done.end(ok ? null : new IllegalStateException("send status " + result.getSendStatus()));
                }

                @Override
                public void onException(Throwable e) {
                    done.end(new IllegalStateException(e));
                }
            }));
        } finally {
            producer.shutdown();
        }
    }
}
