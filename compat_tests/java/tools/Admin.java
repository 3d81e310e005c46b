package compat;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.common.admin.ConsumeStats;
import org.apache.rocketmq.common.admin.OffsetWrapper;
import org.apache.rocketmq.common.admin.TopicOffset;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.protocol.body.Connection;
import org.apache.rocketmq.common.protocol.body.ConsumeMessageDirectlyResult;
import org.apache.rocketmq.common.protocol.body.ConsumerConnection;
import org.apache.rocketmq.common.protocol.body.ConsumerRunningInfo;
import org.apache.rocketmq.common.protocol.body.ProcessQueueInfo;
import org.apache.rocketmq.common.protocol.body.QueueTimeSpan;
import org.apache.rocketmq.common.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What DefaultMQAdminExt asks about groups: each `ask` in turn; what it throws is an event too. */
public final class Admin implements Scenario {
    private DefaultMQAdminExt admin;
    private Request in;
    private Out out;

    @Override
    public void run(Request in, Out out) throws Exception {
        this.in = in;
        this.out = out;
        admin = Clients.own(new DefaultMQAdminExt(Clients.signer(in), 15_000), in);
        admin.start();
        try {
            for (String what : in.all("ask")) {
                try {
                    ask(what);
                } catch (Exception problem) {
                    out.failure("failed", problem);
                }
            }
        } finally {
            Clients.leave(admin::shutdown);
        }
    }

    private void ask(String what) throws Exception {
        switch (what) {
            case "reset":
                offsets(what, admin.resetOffsetByTimestamp(topic(), group(), time(), in.number("force", 1) == 1));
                break;
            case "resetNew":
                admin.resetOffsetNew(group(), topic(), time());
                out.event(what).print();
                break;
            case "connections":
                connections(admin.examineConsumerConnectionInfo(group()));
                break;
            case "status":
                for (Map.Entry<String, Map<MessageQueue, Long>> each
                    : admin.getConsumeStatus(topic(), group(), in.text("clientId", "")).entrySet()) {
                    offsets(each.getKey(), each.getValue());
                }
                break;
            case "runningInfo":
                runningInfo(admin.getConsumerRunningInfo(group(), in.text("clientId"), in.number("jstack", 0) == 1));
                break;
            case "directly":
                for (String id : in.all("msgId")) {
                    directly(admin.consumeMessageDirectly(group(), in.text("clientId"), in.text("of"), id));
                }
                break;
            case "stats":
                stats(admin.examineConsumeStats(group(), topic()));
                break;
            case "topicStats":
                for (Map.Entry<MessageQueue, TopicOffset> each : admin.examineTopicStats(topic()).getOffsetTable().entrySet()) {
                    out.event(what).put("queue", Out.queue(each.getKey())).put("min", each.getValue().getMinOffset())
                        .put("max", each.getValue().getMaxOffset()).put("time", each.getValue().getLastUpdateTimestamp()).print();
                }
                break;
            case "timeSpan":
                for (QueueTimeSpan each : admin.queryConsumeTimeSpan(topic(), group())) {
                    out.event(what).put("queue", Out.queue(each.getMessageQueue())).put("min", each.getMinTimeStamp())
                        .put("max", each.getMaxTimeStamp()).put("consumed", each.getConsumeTimeStamp())
                        .put("delay", each.getDelayTime()).print();
                }
                break;
            case "who":
                out.event(what).put("groups", admin.queryTopicConsumeByWho(topic()).getGroupList()).print();
                break;
            case "putGroup":
                SubscriptionGroupConfig config = new SubscriptionGroupConfig();
                config.setGroupName(group());
                config.setRetryMaxTimes(in.number("retryMaxTimes"));
                admin.createAndUpdateSubscriptionGroupConfig(in.text("broker"), config);
                break;
            case "groupConfig":
                SubscriptionGroupConfig found = admin.examineSubscriptionGroupConfig(in.text("broker"), group());
                out.event(what).put("retryMaxTimes", found == null ? null : found.getRetryMaxTimes()).print();
                break;
            case "deleteTopic":
                admin.deleteTopicInBroker(Collections.singleton(in.text("broker")), topic());
                break;
            case "removeGroup":
                admin.deleteSubscriptionGroup(in.text("broker"), group(), true);
                break;
            default:
                throw new IllegalArgumentException(what);
        }
    }

    private String topic() {
        return in.text("topic");
    }

    private String group() {
        return in.text("group");
    }

    private long time() {
        return Long.parseLong(in.text("time"));
    }

    private void offsets(String name, Map<MessageQueue, Long> offsets) {
        Map<String, Object> numbers = new LinkedHashMap<>();
        offsets.forEach((queue, offset) -> numbers.put(Out.queue(queue), offset));
        out.event("offsets").put("of", name).put("offsets", numbers).print();
    }

    private void connections(ConsumerConnection found) {
        for (Connection each : found.getConnectionSet()) {
            out.event("connection").put("clientId", each.getClientId()).put("language", each.getLanguage())
                .put("version", each.getVersion()).put("address", each.getClientAddr()).print();
        }
        out.event("group").put("consumeType", found.getConsumeType()).put("messageModel", found.getMessageModel())
            .put("consumeFromWhere", found.getConsumeFromWhere()).put("topics", found.getSubscriptionTable().keySet()).print();
    }

    private void runningInfo(ConsumerRunningInfo info) {
        Map<String, Object> queues = new LinkedHashMap<>();
        for (Map.Entry<MessageQueue, ProcessQueueInfo> each : info.getMqTable().entrySet()) {
            queues.put(each.getKey().getTopic() + ":" + each.getKey().getQueueId(), each.getValue().getCommitOffset());
        }
        out.event("runningInfo").put("orderly", info.getProperties().getProperty(ConsumerRunningInfo.PROP_CONSUME_ORDERLY))
            .put("type", info.getProperties().getProperty(ConsumerRunningInfo.PROP_CONSUME_TYPE)).put("queues", queues)
            .put("topics", info.getStatusTable().keySet()).put("subscriptions", info.getSubscriptionSet().size())
            .put("jstack", info.getJstack() != null).print();
    }

    private void directly(ConsumeMessageDirectlyResult result) {
        out.event("directly").put("result", result.getConsumeResult()).put("order", result.isOrder())
            .put("autoCommit", result.isAutoCommit()).put("remark", result.getRemark()).put("ms", result.getSpentTimeMills()).print();
    }

    private void stats(ConsumeStats found) {
        for (Map.Entry<MessageQueue, OffsetWrapper> each : found.getOffsetTable().entrySet()) {
            out.event("stats").put("queue", Out.queue(each.getKey())).put("broker", each.getValue().getBrokerOffset())
                .put("consumer", each.getValue().getConsumerOffset()).put("time", each.getValue().getLastTimestamp()).print();
        }
    }
}
