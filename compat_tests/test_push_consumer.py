"""An official push consumer: concurrent and orderly, by tags, broadcasting, woken by messages that arrive."""

from __future__ import annotations

from collections import Counter

from rocketwire.compat.clients.client import Client, events
from rocketwire.compat.messages import Outgoing, assert_each_once, by_queue


def test_concurrent(client: Client, topic: str, group: str) -> None:
    messages = [
        Outgoing(body=f"第 {i} 条 message", tags=f"T{i % 3}", keys=f"k{i}", properties={"序号": str(i)})
        for i in range(60)
    ]
    client.run("SendSync", topic=topic, message=messages)
    received = client.only("received", "PushConcurrent", topic=topic, group=group, count=60)
    assert_each_once(received, messages)
    for queue, in_queue in by_queue(received).items():
        assert sorted(event["queueOffset"] for event in in_queue) == list(range(len(in_queue))), queue


def test_large_and_compressed_bodies(client: Client, topic: str, group: str) -> None:
    """Bodies that fill more than one pull answer, among small ones."""
    messages = [Outgoing(body=f"noise {i}", size=1 << 20) for i in range(4)]
    messages += [Outgoing(body=f"small {i}") for i in range(8)]
    messages += [Outgoing(body=f"compressed {i} ", repeat=5_000) for i in range(4)]
    client.run("SendSync", topic=topic, message=messages)
    received = client.only("received", "PushConcurrent", topic=topic, group=group, count=len(messages))
    assert_each_once(received, messages)


def test_tags(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"m{i}", tags=["TagA", "TagB", "TagC", "标签", None][i % 5]) for i in range(50)]
    client.run("SendSync", topic=topic, message=messages)
    received = client.only("received", "PushConcurrent", topic=topic, group=group, expression="TagA || 标签", count=20)
    assert_each_once(received, [message for message in messages if message.tags in {"TagA", "标签"}])


def test_orderly(client: Client, topic: str, group: str) -> None:
    """Each queue's messages come in its order, one at a time: the broker holds the queue's lock for the consumer."""
    messages = [Outgoing(body=f"order {i % 4} step {i // 4}", queue=i % 4) for i in range(80)]
    client.run("SendBySelector", topic=topic, message=messages)
    got = client.run("PushOrderly", topic=topic, group=group, count=80)
    received = events(got, "received")
    assert_each_once(received, messages)
    for queue, in_queue in by_queue(received).items():
        assert [event["text"] for event in in_queue] == [f"order {queue} step {i}" for i in range(20)]
        assert [event["queueOffset"] for event in in_queue] == list(range(20))
    (overlaps,) = events(got, "overlaps")
    assert overlaps["count"] == 0


def test_orderly_consumer_hands_its_queues_on(client: Client, topic: str, group: str) -> None:
    """A second orderly consumer gets the locks that the first gave back when it left."""
    first = [Outgoing(body=f"first {i}", queue=i % 4) for i in range(8)]
    client.run("SendBySelector", topic=topic, message=first)
    assert len(client.only("received", "PushOrderly", topic=topic, group=group, count=8)) == 8
    second = [Outgoing(body=f"second {i}", queue=i % 4) for i in range(8)]
    client.run("SendBySelector", topic=topic, message=second)
    received = client.only("received", "PushOrderly", topic=topic, group=group, count=8)
    assert_each_once(received, second)


def test_broadcasting(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"to everyone {i}", tags="All") for i in range(16)]
    received = client.only("received", "PushBroadcast", topic=topic, group=group, message=messages)
    assert Counter(event["by"] for event in received) == {"a": 16, "b": 16}
    for name in ("a", "b"):
        assert_each_once([event for event in received if event["by"] == name], messages)


def test_a_message_wakes_the_waiting_consumer(client: Client, topic: str, group: str) -> None:
    """Held pulls are answered when a message arrives, not when their 15 s are over."""
    messages = [Outgoing(body=f"wake {i}") for i in range(8)]
    got = client.run("PushWhileSending", topic=topic, group=group, message=messages)
    assert_each_once(events(got, "received"), messages)
    delays = sorted(event["ms"] for event in events(got, "delay"))
    assert delays[len(delays) // 2] < 2_000
    assert delays[-1] < 10_000
