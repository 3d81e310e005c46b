"""An official producer's ways to send, each read back queue by queue and compared with what was sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocketwire.compat.clients.client import Client, events
from rocketwire.compat.messages import Event, Outgoing, assert_each_once, assert_same, by_queue, digest

UNCOMPRESSED = 100 << 20


def read_back(client: Client, topic: str, group: str, count: int) -> list[Event]:
    """All messages of the topic, of which there should be `count`, as the old pull consumer reads them."""
    return client.only("received", "PullAll", topic=topic, group=group, count=count)


def assert_acknowledged(sent: list[Event], received: list[Event]) -> None:
    """Every acknowledged message is stored where the answer says."""
    places = {(event["queueId"], event["queueOffset"]): event["msgId"] for event in received}
    for event in sent:
        assert event["status"] == "SEND_OK"
        assert places[event["queueId"], event["queueOffset"]] == event["msgId"]


def test_sync(client: Client, topic: str, group: str) -> None:
    messages = [
        Outgoing(body="hello", tags="TagA", keys="key1 key2", properties={"a": "b"}, flag=7),
        Outgoing(body="中文消息 🚀", tags="标签", keys="键", properties={"属性": "值 🚀"}),
        Outgoing(body="bare"),
        Outgoing(body="no wait", wait=False),
    ]
    sent = client.only("sent", "SendSync", topic=topic, message=messages)
    received = read_back(client, topic, group, len(messages))
    assert len(sent) == len(messages)
    assert_each_once(received, messages)
    assert_acknowledged(sent, received)
    assert {event["broker"] for event in sent} == {sent[0]["broker"]}
    for event in received:
        assert event["topic"] == topic
        assert event["reconsumeTimes"] == 0
        assert event["properties"]["UNIQ_KEY"] == event["msgId"]
        assert event["properties"]["CLUSTER"] == "DefaultCluster"
        assert event["bornHost"].startswith("/127.0.0.1:")
        assert abs(event["storeTimestamp"] - event["bornTimestamp"]) < 60_000


def test_async(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"async {i}", tags="Async", keys=f"k{i}") for i in range(50)]
    got = client.run("SendAsync", topic=topic, message=messages)
    received = read_back(client, topic, group, len(messages))
    assert len(events(got, "sent")) == 50
    assert events(got, "refused") == []
    assert_each_once(received, messages)
    assert_acknowledged(events(got, "sent"), received)


def test_one_way(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"one way {i}", tags="OneWay") for i in range(20)]
    client.run("SendOneway", topic=topic, message=messages)
    assert_each_once(read_back(client, topic, group, len(messages)), messages)


def test_batch(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"batch {i}", tags="B", keys=f"b{i}", properties={"i": str(i)}) for i in range(40)]
    (sent,) = client.only("sent", "SendBatch", topic=topic, message=messages)
    received = read_back(client, topic, group, len(messages))
    assert_each_once(received, messages)
    # A batch goes to one queue, in its order; the answer lists every message's ids.
    assert [digest(event) for event in received] == [digest(event) for event in by_queue(received)[sent["queueId"]]]
    assert [event["text"] for event in received] == [message.body for message in messages]
    assert [event["queueOffset"] for event in received] == list(range(sent["queueOffset"], sent["queueOffset"] + 40))
    assert len(sent["offsetMsgId"].split(",")) == 40
    if client.version != "5.5.0":  # gives the batch an id too, which its consumers see: test_query.py
        assert sent["msgId"].split(",") == [event["msgId"] for event in received]


def test_by_queue(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"to queue {i % 4} no {i}", queue=i % 4) for i in range(12)]
    sent = client.only("sent", "SendToQueue", topic=topic, message=messages)
    assert [event["queueId"] for event in sent] == [message.queue for message in messages]
    assert [event["queueOffset"] for event in sent] == [i // 4 for i in range(12)]
    for queue, received in by_queue(read_back(client, topic, group, len(messages))).items():
        assert [event["text"] for event in received] == [m.body for m in messages if m.queue == queue]


def test_queue_that_the_topic_lacks(client: Client, topic: str) -> None:
    (refused,) = client.only("refused", "SendToQueue", topic=topic, message=[Outgoing(body="x", queue=9)], retries=0)
    assert refused["code"] == 1
    assert "9" in refused["message"]


def test_by_selector(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"order {i % 3} step {i // 3}", queue=i % 3) for i in range(12)]
    sent = client.only("sent", "SendBySelector", topic=topic, message=messages)
    assert [event["queueId"] for event in sent] == [i % 3 for i in range(12)]
    for queue, received in by_queue(read_back(client, topic, group, len(messages))).items():
        assert [event["text"] for event in received] == [f"order {queue} step {i}" for i in range(4)]


def test_body_sizes(client: Client, topic: str, group: str) -> None:
    """From 1 byte to the limit of 4 MiB, as they are (the client would compress those above 4 KiB)."""
    sizes = [1, 100, 4095, 4096, 4097, 1 << 20, 4 << 20]
    messages = [Outgoing(body="noise", size=size, tags="Size") for size in sizes]
    sent = client.only("sent", "SendSync", topic=topic, message=messages, compressOver=UNCOMPRESSED)
    received = read_back(client, topic, group, len(messages))
    assert len(sent) == len(sizes)
    assert_each_once(received, messages)
    assert_acknowledged(sent, received)
    assert all(event["storeSize"] > event["length"] for event in received)


def test_body_over_the_limit_is_refused_by_the_client(client: Client, topic: str, group: str) -> None:
    (refused,) = client.only("refused", "SendSync", topic=topic, message=[Outgoing(size=(4 << 20) + 1)])
    assert refused["code"] == 13
    assert read_back(client, topic, group, 0) == []


def test_body_over_the_limit_is_refused_by_the_broker(client: Client, topic: str, group: str) -> None:
    too_long, next_one = Outgoing(size=(4 << 20) + 1), Outgoing(body="still serving")
    limits = {"maxMessageSize": 8 << 20, "compressOver": UNCOMPRESSED, "retries": 0}
    got = client.run("SendSync", limits, topic=topic, message=[too_long, next_one])
    (refused,) = events(got, "refused")
    assert refused["code"] == 13
    assert "4194304" in refused["message"]
    (received,) = read_back(client, topic, group, 1)
    assert_same(received, next_one)


def test_compressed_body(client: Client, topic: str, group: str) -> None:
    """A client compresses bodies above 4 KiB; the flag that says so stays, and the reader gets the text back."""
    messages = [Outgoing(body="压缩我 compress me ", repeat=times) for times in (300, 20_000)]
    client.run("SendSync", topic=topic, message=messages)
    received = read_back(client, topic, group, len(messages))
    assert_each_once(received, messages)
    assert all(event["storeSize"] < event["length"] for event in received)


def test_topic_made_by_the_first_send(client: Client, unique: Callable[[str], str], group: str) -> None:
    topic = unique("AutoMade")
    messages = [Outgoing(body=f"first {i}") for i in range(8)]
    sent = client.only("sent", "SendSync", topic=topic, message=messages)
    assert {event["queueId"] for event in sent} == {0, 1, 2, 3}
    assert_each_once(read_back(client, topic, group, len(messages)), messages)


def test_create_topic(client: Client, unique: Callable[[str], str]) -> None:
    topic = unique("Made")
    (created,) = client.only("created", "CreateTopic", topic=topic, queues=6)
    assert [int(queue.rpartition(":")[2]) for queue in created["queues"]] == list(range(6))


@pytest.mark.parametrize("topic_name", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"])
def test_topics_of_the_system_are_refused(client: Client, topic_name: str) -> None:
    (refused,) = client.only("refused", "SendSync", topic=topic_name, message=[Outgoing(body="x")], retries=0)
    assert refused["error"] in {"MQClientException", "MQBrokerException"}
