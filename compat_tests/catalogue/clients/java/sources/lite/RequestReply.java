package compat;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.RequestTimeoutException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A producer asks, a consumer replies: in turn by topic, queue and selector, then all at once with callbacks, then one question
 * that nobody answers, and one reply to somebody who is not there. The reply to a question is "re: " and its text, `repeat` times.
 */
final class RequestReply {
    private static final int LONG = 60_000;
    private static final String SILENCE = "silence";

    private RequestReply() {
    }

    public static void requestReply(Request in, Out out) throws Exception {
        DefaultMQProducer replier = Clients.producer(in);
        DefaultMQProducer asker = Clients.producer(in);
        DefaultMQPushConsumer consumer = Clients.subscribed(in);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> reply(replier, message, in.number("repeat", 1), out));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        try {
            inTurn(asker, in, out);
            atOnce(asker, in, out);
            try {
                asker.request(message(in, SILENCE), 3_000);
                out.event("unexpected").print();
            } catch (RequestTimeoutException expected) {
                out.event("timed out").put("code", expected.getResponseCode()).print();
            }
            toNobody(replier, in, out);
        } finally {
            for (Runnable shutdown : new Runnable[] {asker::shutdown, replier::shutdown, consumer::shutdown}) {
                Clients.leave(shutdown);
            }
        }
    }

    private static void inTurn(DefaultMQProducer asker, Request in, Out out) throws Exception {
        List<MessageQueue> queues = Clients.queues(asker.fetchPublishMessageQueues(in.text("topic")));
        print(out, asker.request(message(in, "by topic"), LONG));
        print(out, asker.request(message(in, "by queue"), queues.get(1), LONG));
        print(out, asker.request(message(in, "by selector"), (all, message, number) -> all.get((Integer) number), 2, LONG));
    }

    private static void atOnce(DefaultMQProducer asker, Request in, Out out) throws Exception {
        CountDownLatch answered = new CountDownLatch(in.number("questions"));
        for (int i = 0; i < in.number("questions"); i++) {
            asker.request(message(in, "question " + i), new RequestCallback() {
                @Override
                public void onSuccess(Message reply) {
                    print(out, reply);
                    answered.countDown();
                }

                @Override
                public void onException(Throwable problem) {
                    out.failure("refused", problem);
                    answered.countDown();
                }
            }, LONG);
        }
        out.event("answered").put("all", answered.await(in.number("wait", Clients.LONG), TimeUnit.SECONDS)).print();
    }

    private static void toNobody(DefaultMQProducer replier, Request in, Out out) {
        Message reply = new Message(in.text("replyTopic"), "lost".getBytes(StandardCharsets.UTF_8));
        MessageAccessor.putProperty(reply, "MSG_TYPE", "reply");
        MessageAccessor.putProperty(reply, "REPLY_TO_CLIENT", "nobody");
        try {
            replier.setRetryTimesWhenSendFailed(0);
            replier.send(reply);
            out.event("unexpected").print();
        } catch (Exception refused) {
            out.failure("to nobody", refused.getCause()); // it says only that the send failed
        }
    }

    private static void reply(DefaultMQProducer replier, MessageExt question, int repeat, Out out) {
        String text = new String(question.getBody(), StandardCharsets.UTF_8);
        if (text.equals(SILENCE)) {
            return;
        }
        try {
            String answer = String.join("", Collections.nCopies(repeat, "re: " + text));
            Message reply = MessageUtil.createReplyMessage(question, answer.getBytes(StandardCharsets.UTF_8));
            out.sent(out.event("sent").put("text", text), replier.send(reply, LONG));
        } catch (Exception problem) {
            out.failure("crashed", problem);
        }
    }

    private static Message message(Request in, String text) {
        return new Message(in.text("topic"), text.getBytes(StandardCharsets.UTF_8));
    }

    private static void print(Out out, Message reply) {
        out.event("reply").put("topic", reply.getTopic()).put("text", new String(reply.getBody(), StandardCharsets.UTF_8))
            .put("type", reply.getProperty("MSG_TYPE")).print();
    }
}
