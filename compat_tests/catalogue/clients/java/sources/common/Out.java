package compat;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The events of a client of 4.x. */
public final class Out extends Lines {
    public Out(PrintStream stream) {
        super(stream);
    }

    public void sent(SendResult result) {
        sent(event("sent"), result);
    }

    /** The same with what the scenario has put into the event before. */
    public void sent(Event event, SendResult result) {
        event.put("status", result.getSendStatus().name()).put("msgId", result.getMsgId())
            .put("offsetMsgId", result.getOffsetMsgId()).put("topic", result.getMessageQueue().getTopic())
            .put("broker", result.getMessageQueue().getBrokerName())
            .put("queueId", result.getMessageQueue().getQueueId()).put("queueOffset", result.getQueueOffset()).print();
    }

    public void received(String by, MessageExt message) throws Exception {
        message("received", message).put("by", by).put("at", System.currentTimeMillis()).print();
    }

    public void received(String by, Iterable<MessageExt> messages) throws Exception {
        for (MessageExt message : messages) {
            received(by, message);
        }
    }

    public Event message(String name, MessageExt message) throws Exception {
        byte[] body = message.getBody();
        return event(name).put("topic", message.getTopic()).put("queueId", message.getQueueId())
            .put("queueOffset", message.getQueueOffset()).put("msgId", message.getMsgId()).put("tags", message.getTags())
            .put("keys", message.getKeys()).put("properties", new LinkedHashMap<>(message.getProperties()))
            .put("flag", message.getFlag()).put("sysFlag", message.getSysFlag())
            .put("bornTimestamp", message.getBornTimestamp()).put("storeTimestamp", message.getStoreTimestamp())
            .put("bornHost", String.valueOf(message.getBornHost())).put("storeHost", String.valueOf(message.getStoreHost()))
            .put("physicalOffset", message.getCommitLogOffset()).put("storeSize", message.getStoreSize())
            .put("reconsumeTimes", message.getReconsumeTimes()).put("length", body.length).put("sha256", sha256(body))
            .put("text", body.length <= SHORT_BODY ? new String(body, StandardCharsets.UTF_8) : null);
    }

    public void failure(String name, Throwable problem) {
        Event event = event(name).put("error", problem.getClass().getSimpleName());
        if (problem instanceof MQBrokerException) {
            MQBrokerException refused = (MQBrokerException) problem;
            event.put("code", refused.getResponseCode()).put("message", refused.getErrorMessage());
        } else if (problem instanceof MQClientException) {
            MQClientException refused = (MQClientException) problem;
            event.put("code", refused.getResponseCode()).put("message", refused.getErrorMessage());
        }
        event.put("text", problem.getMessage()).put("at", String.valueOf(problem.getStackTrace()[0])).print();
    }

    public static String queue(MessageQueue queue) {
        return queue.getBrokerName() + ":" + queue.getQueueId();
    }
}
