"""A producer's ways to send, each read back queue by queue and compared with what was sent."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Event, Outgoing, assert_each_once, assert_same, by_queue, digest
from rocketwire.compat.scenario import Need, scenario
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.names import SCHEDULE_TOPIC, TRANS_HALF_TOPIC

UNCOMPRESSED: Final = 100 << 20
_SEND: Final = "Apache 4.9, SendMessageProcessor and DefaultMQProducerImpl"


def assert_acknowledged(sent: list[Event], received: list[Event]) -> None:
    """Every acknowledged message is stored at the place in the answer."""
    places = {(event["broker"], event["queueId"], event["queueOffset"]): event["msgId"] for event in sent}
    assert {event["status"] for event in sent} == {"SEND_OK"}
    stored = {(event["queueId"], event["queueOffset"], event["msgId"]) for event in received}  # of several brokers
    for (_, queue, offset), message_id in places.items():
        assert (queue, offset, message_id) in stored


@scenario(
    id="send.sync",
    proves="A message sent synchronously is stored as answered, with body, tags, keys, flag and properties.",
    source=f"{_SEND}; rocketmq.apache.org, Simple Message Example",
    programs=("SendSync",),
)
def sync(case: Case) -> None:
    topic = case.topic()
    messages = [
        Outgoing(body="hello", tags="TagA", keys="key1 key2", properties={"a": "b"}, flag=7),
        Outgoing(body="中文消息 🚀", tags="标签", keys="键", properties={"属性": "值 🚀"}),
        Outgoing(body="bare"),
        Outgoing(body="no wait", wait=False),
    ]
    sent = case.client.only("sent", "SendSync", topic=topic, message=messages)
    received = case.read(topic, len(messages))
    assert len(sent) == len(messages)
    assert_each_once(received, messages)
    assert_acknowledged(sent, received)
    for event in received:
        assert event["topic"] == topic
        assert event["reconsumeTimes"] == 0
        assert event["bornHost"].startswith("/")
        assert event["properties"].get(property_names.UNIQ_KEY, event["msgId"]) == event["msgId"]
        assert event["properties"][property_names.CLUSTER] == case.endpoint.cluster
        assert abs(event["storeTimestamp"] - event["bornTimestamp"]) < 60_000


@scenario(
    id="send.async",
    proves="Asynchronous sends are all answered, and stored at the places in the answers.",
    source=f"{_SEND}; rocketmq.apache.org, Simple Message Example",
    programs=("SendAsync",),
)
def asynchronous(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"async {i}", tags="Async", keys=f"k{i}") for i in range(50)]
    got = case.client.run("SendAsync", topic=topic, message=messages)
    received = case.read(topic, len(messages))
    assert len(events(got, "sent")) == 50
    assert events(got, "refused") == []
    assert_each_once(received, messages)
    assert_acknowledged(events(got, "sent"), received)


@scenario(
    id="send.one-way",
    proves="Messages sent one way, without an answer, are stored.",
    source=f"{_SEND}; rocketmq.apache.org, Simple Message Example",
    programs=("SendOneway",),
)
def one_way(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"one way {i}", tags="OneWay") for i in range(20)]
    case.client.run("SendOneway", topic=topic, message=messages)
    assert_each_once(case.read(topic, len(messages)), messages)


@scenario(
    id="send.batch",
    proves="A batch goes to one queue in its order, and the answer lists the ids of all its messages.",
    source=f"{_SEND}; rocketmq.apache.org, Batch Message Sending",
    programs=("SendBatch",),
)
def batch(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"batch {i}", tags="B", keys=f"b{i}", properties={"i": str(i)}) for i in range(40)]
    (sent,) = case.client.only("sent", "SendBatch", topic=topic, message=messages)
    received = case.read(topic, len(messages))
    assert_each_once(received, messages)
    assert [digest(event) for event in received] == [digest(event) for event in by_queue(received)[sent["queueId"]]]
    assert [event["text"] for event in received] == [message.body for message in messages]
    assert [event["queueOffset"] for event in received] == list(range(sent["queueOffset"], sent["queueOffset"] + 40))
    assert len(sent["offsetMsgId"].split(",")) == 40
    if case.client.id not in {"java-5.5.0", "spring-5.3"}:  # 5.x gives the batch an id too, which its consumers see
        assert sent["msgId"].split(",") == [event["msgId"] for event in received]


@scenario(
    id="send.to-queue",
    proves="A message sent to a queue goes there, in the order of the sends.",
    source=_SEND,
    programs=("SendToQueue",),
)
def to_queue(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"to queue {i % 4} no {i}", queue=i % 4) for i in range(12)]
    sent = case.client.only("sent", "SendToQueue", topic=topic, message=messages)
    assert [event["queueId"] for event in sent] == [message.queue for message in messages]
    assert [event["queueOffset"] for event in sent] == [i // 4 for i in range(12)]
    for queue, received in by_queue(case.read(topic, len(messages))).items():
        assert [event["text"] for event in received] == [m.body for m in messages if m.queue == queue]


@scenario(
    id="send.to-missing-queue",
    proves="A message for a queue that the topic lacks is refused with code 1, and the queue is named.",
    source="Apache 4.9, AbstractSendMessageProcessor.msgCheck",
    programs=("SendToQueue",),
)
def to_missing_queue(case: Case) -> None:
    topic = case.topic()
    missing = [Outgoing(body="x", queue=9)]
    (refused,) = case.client.only("refused", "SendToQueue", topic=topic, message=missing, retries=0)
    assert refused["code"] == 1
    assert "9" in refused["message"]


@scenario(
    id="send.by-selector",
    proves="Messages that a selector sends to one queue stay in the order of the sends.",
    source=f"{_SEND}; rocketmq.apache.org, Ordered Message Sending",
    programs=("SendBySelector",),
)
def by_selector(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"order {i % 3} step {i // 3}", queue=i % 3) for i in range(12)]
    sent = case.client.only("sent", "SendBySelector", topic=topic, message=messages)
    assert [event["queueId"] for event in sent] == [i % 3 for i in range(12)]
    for queue, received in by_queue(case.read(topic, len(messages))).items():
        assert [event["text"] for event in received] == [f"order {queue} step {i}" for i in range(4)]


@scenario(
    id="send.body-sizes",
    proves="Bodies from 1 byte to the limit of 4 MiB come back as they were sent.",
    source="Apache 4.9, MessageStoreConfig.maxMessageSize",
    programs=("SendSync",),
    limit=120,
)
def body_sizes(case: Case) -> None:
    topic = case.topic()
    sizes = [1, 100, 4095, 4096, 4097, 1 << 20, 4 << 20]
    messages = [Outgoing(body="noise", size=size, tags="Size") for size in sizes]
    sent = case.client.only("sent", "SendSync", topic=topic, message=messages, compressOver=UNCOMPRESSED)
    received = case.read(topic, len(messages))
    assert len(sent) == len(sizes)
    assert_each_once(received, messages)
    assert_acknowledged(sent, received)
    assert all(event["storeSize"] > event["length"] for event in received)


@scenario(
    id="send.too-long-for-client",
    proves="The client itself refuses a body over 4 MiB with code 13, and sends nothing.",
    source="Apache 4.9, Validators.checkMessage",
    programs=("SendSync",),
)
def too_long_for_client(case: Case) -> None:
    topic = case.topic()
    (refused,) = case.client.only("refused", "SendSync", topic=topic, message=[Outgoing(size=(4 << 20) + 1)])
    assert refused["code"] == 13
    assert case.read(topic, 0) == []


@scenario(
    id="send.too-long-for-broker",
    proves="The broker refuses a body over 4 MiB with code 13, names the limit, and continues to serve.",
    source="Apache 4.9, AbstractSendMessageProcessor and MessageStoreConfig.maxMessageSize",
    programs=("SendSync",),
)
def too_long_for_broker(case: Case) -> None:
    topic = case.topic()
    too_long, next_one = Outgoing(size=(4 << 20) + 1), Outgoing(body="still serving")
    limits = {"maxMessageSize": 8 << 20, "compressOver": UNCOMPRESSED, "retries": 0}
    got = case.client.run("SendSync", limits, topic=topic, message=[too_long, next_one])
    (refused,) = events(got, "refused")
    assert refused["code"] == 13
    assert "4194304" in refused["message"]
    (received,) = case.read(topic, 1)
    assert_same(received, next_one)


@scenario(
    id="send.compressed",
    proves="A body that the client compresses, above 4 KiB, is stored compressed and read as it was.",
    source="Apache 4.9, DefaultMQProducerImpl.tryToCompressMessage",
    programs=("SendSync",),
)
def compressed(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body="压缩我 compress me ", repeat=times) for times in (300, 20_000)]
    case.client.run("SendSync", topic=topic, message=messages)
    received = case.read(topic, len(messages))
    assert_each_once(received, messages)
    assert all(event["storeSize"] < event["length"] for event in received)


@scenario(
    id="send.auto-created-topic",
    proves="The first message to a new topic creates it with the four queues that clients request.",
    source="Apache 4.9, TopicConfigManager.createTopicInSendMessageMethod",
    needs=(Need.AUTO_CREATE_TOPIC, Need.ONE_BROKER),
    programs=("SendSync",),
)
def auto_created_topic(case: Case) -> None:
    topic = case.unique("AutoMade")
    messages = [Outgoing(body=f"first {i}") for i in range(8)]
    sent = case.client.only("sent", "SendSync", topic=topic, message=messages)
    assert {event["queueId"] for event in sent} == {0, 1, 2, 3}
    assert_each_once(case.read(topic, len(messages)), messages)


def _refused(case: Case, topic: str) -> None:
    (refused,) = case.client.only("refused", "SendSync", topic=topic, message=[Outgoing(body="x")], retries=0)
    assert refused["error"] in {"MQClientException", "MQBrokerException"} or not case.client.id.startswith("java-")


@scenario(
    id="send.to-delay-topic",
    proves="No client may send to the topic of the delay levels.",
    source="Apache 4.9, TopicValidator.isNotAllowedSendTopic",
    programs=("SendSync",),
)
def to_delay_topic(case: Case) -> None:
    _refused(case, SCHEDULE_TOPIC)


@scenario(
    id="send.to-half-topic",
    proves="No client may send to the topic of half messages.",
    source="Apache 4.9, TopicValidator.isNotAllowedSendTopic",
    programs=("SendSync",),
)
def to_half_topic(case: Case) -> None:
    _refused(case, TRANS_HALF_TOPIC)
