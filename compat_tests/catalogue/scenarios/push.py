"""A push consumer: concurrent and orderly, by tags, woken by messages that arrive."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, assert_each_once, by_queue
from rocketwire.compat.scenario import scenario

_PUSH: Final = "Apache 4.9, DefaultMQPushConsumerImpl; rocketmq.apache.org, Push Consumer"


@scenario(
    id="push.concurrent",
    proves="A push consumer with a concurrent listener gets every message once, whole.",
    source=_PUSH,
    programs=("PushConcurrent",),
    background=("SendSync",),
)
def concurrent(case: Case) -> None:
    topic = case.topic()
    messages = [
        Outgoing(body=f"第 {i} 条 message", tags=f"T{i % 3}", keys=f"k{i}", properties={"序号": str(i)})
        for i in range(60)
    ]
    case.doing("SendSync").run("SendSync", topic=topic, message=messages)
    received = case.client.only("received", "PushConcurrent", topic=topic, group=case.group(), count=60)
    assert_each_once(received, messages)
    for host in {event["storeHost"] for event in received}:
        of_broker = [event for event in received if event["storeHost"] == host]
        for queue, in_queue in by_queue(of_broker).items():
            assert sorted(event["queueOffset"] for event in in_queue) == list(range(len(in_queue))), queue


@scenario(
    id="push.large-bodies",
    proves="Bodies that fill more than one pull's answer come among small and compressed ones.",
    source="Apache 4.9, MessageStoreConfig.maxTransferBytesOnMessageInMemory",
    programs=("PushConcurrent",),
    background=("SendSync",),
    limit=120,
)
def large_bodies(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"noise {i}", size=1 << 20) for i in range(4)]
    messages += [Outgoing(body=f"small {i}") for i in range(8)]
    messages += [Outgoing(body=f"compressed {i} ", repeat=5_000) for i in range(4)]
    case.doing("SendSync").run("SendSync", topic=topic, message=messages)
    received = case.client.only("received", "PushConcurrent", topic=topic, group=case.group(), count=len(messages))
    assert_each_once(received, messages)


@scenario(
    id="push.tags",
    proves="A push consumer gets the messages of the tags that it names, and no others.",
    source="Apache 4.9, FilterAPI and DefaultMessageFilter; rocketmq.apache.org, Message Filtering",
    programs=("PushConcurrent",),
    background=("SendSync",),
)
def tags(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"m{i}", tags=["TagA", "TagB", "TagC", "标签", None][i % 5]) for i in range(50)]
    case.doing("SendSync").run("SendSync", topic=topic, message=messages)
    wanted = {"topic": topic, "group": case.group(), "expression": "TagA || 标签"}
    received = case.client.only("received", "PushConcurrent", wanted, count=20)
    assert_each_once(received, [message for message in messages if message.tags in {"TagA", "标签"}])


@scenario(
    id="push.woken",
    proves="A held pull is answered when a message arrives, not when its 15 s are over.",
    source="Apache 4.9, PullRequestHoldService.notifyMessageArriving",
    programs=("PushWhileSending",),
)
def woken(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"wake {i}") for i in range(8)]
    got = case.client.run("PushWhileSending", topic=topic, group=case.group(), message=messages)
    assert_each_once(events(got, "received"), messages)
    delays = sorted(event["ms"] for event in events(got, "delay"))
    assert delays[len(delays) // 2] < 2_000
    assert delays[-1] < 10_000
