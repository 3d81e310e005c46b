"""Order in 5.x: by message group, in groups of consumers that consume in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.scenario import scenario
from rocketwire.compat.sdk import PUSH, SHORTEST, SIMPLE, publish, push, sent_after, simple
from rocketwire.wire.facts import properties as names
from rocketwire.wire.names import dead_letter_topic

_SOURCE: Final = "rocketmq.apache.org, FIFO Message; Apache 5.5, ConsumerOrderInfoManager of the broker"
_GROUPS: Final = ("red", "green", "blue")
_EACH: Final = 10


def _numbered(groups: Iterable[str] = _GROUPS, each: int = _EACH) -> list[Outgoing]:
    return [Outgoing(body=f"{group} {number}", group=group) for number in range(each) for group in groups]


def _by_group(received: Iterable[Event]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for event in received:
        found.setdefault(event["messageGroup"], []).append(event["text"])
    return found


@scenario(
    id="grpc-fifo.one-queue",
    proves="The messages of a message group are in one queue, in the order in which they were sent.",
    source="Apache 5.5, SendMessageActivity.SendMessageQueueSelector: the queue by the group's hash",
    programs=("Publish",),
)
def one_queue(case: Case) -> None:
    topic = case.topic(4, kind="FIFO")
    publish(case, topic, _numbered())
    stored = case.read(topic, len(_GROUPS) * _EACH)
    for group in _GROUPS:
        own = [event for event in stored if event["properties"][names.SHARDING_KEY] == group]
        assert [event["text"] for event in own] == [f"{group} {number}" for number in range(_EACH)]
        assert len({event["queueId"] for event in own}) == 1


@scenario(
    id="grpc-fifo.push-in-order",
    proves="A push consumer of an ordered group gets the messages of each message group in order, each once.",
    source=_SOURCE,
    programs=("Publish", *PUSH),
)
def push_in_order(case: Case) -> None:
    topic, group = case.topic(2, kind="FIFO"), case.consumers(orderly=True)
    publish(case, topic, _numbered())
    with push(case, topic, group) as consumer:
        received = consumer.taken(len(_GROUPS) * _EACH, settle=1000)
    assert _by_group(received) == {name: [f"{name} {number}" for number in range(_EACH)] for name in _GROUPS}


@scenario(
    id="grpc-fifo.failing-keeps-order",
    proves="A message that fails is redelivered before the next of its message group; other groups continue.",
    source=_SOURCE,
    programs=("Publish", *PUSH),
    limit=120,
)
def failing_keeps_order(case: Case) -> None:
    topic, group = case.topic(1, kind="FIFO"), case.consumers(orderly=True)
    messages = _numbered(("red", "green"), 3)
    messages[2] = Outgoing(body="red 1", group="red", properties={"fail": "2"})
    publish(case, topic, messages)
    with push(case, topic, group) as consumer:
        received = consumer.taken(8)
    assert _by_group(received) == {
        "red": ["red 0", "red 1", "red 1", "red 1", "red 2"],
        "green": ["green 0", "green 1", "green 2"],
    }


@scenario(
    id="grpc-fifo.given-up",
    proves="A message that failed as often as its group allows becomes a dead letter, and its group continues.",
    source="Apache 5.5, ForwardMessageToDLQActivity of the proxy",
    programs=("Publish", *PUSH),
    limit=120,
)
def dead_letter(case: Case) -> None:
    topic, group = case.topic(1, kind="FIFO"), case.consumers(orderly=True, retries=1)
    stuck = Outgoing(body="stuck", group="g", properties={"fail": "99"})
    publish(case, topic, [stuck, Outgoing(body="next", group="g")])
    with push(case, topic, group) as consumer:
        received = consumer.taken(3)
        assert [event["text"] for event in received] == ["stuck", "stuck", "next"]
        letters = dead_letter_topic(group)
        case.wait_until(lambda: case.has_topic(letters), "the topic of dead letters exists")
        (letter,) = case.read(letters, 1)
    assert letter["text"] == "stuck"


@scenario(
    id="grpc-fifo.simple-waits-for-acknowledgement",
    proves="An ordered group gets nothing more of a queue until what it received is acknowledged, or redelivered.",
    source=_SOURCE,
    programs=("Publish", *SIMPLE, "Ack"),
    limit=120,
)
def simple_waits(case: Case) -> None:
    topic, group = case.topic(1, kind="FIFO"), case.consumers(orderly=True)
    publish(case, topic, [Outgoing(body=body, group="g") for body in ("first", "second", "third")])
    with simple(case, topic, group) as consumer:
        (first,) = consumer.receive(1, most=1, invisible=60)
        assert first["text"] == "first"
        assert consumer.rest(1) == []
        assert consumer.ack(first) == []
        (second,) = consumer.receive(1, most=1, invisible=SHORTEST)
        assert second["text"] == "second"
        (again,) = consumer.receive(1, most=1)
        assert (again["text"], again["attempt"]) == ("second", 2)
        assert consumer.ack(again) == []
        (third,) = consumer.receive(1, most=1)
        assert (third["text"], third["attempt"]) == ("third", 1)
        assert consumer.ack(third) == []


@scenario(
    id="grpc-fifo.simple-woken",
    proves="A receive of an ordered group that waits is answered as soon as a message comes to any queue.",
    source="Apache 5.5, ReceiveMessageActivity.ReceiveMessageQueueSelector: a receive is for all queues of a broker",
    programs=SIMPLE,
)
def simple_woken(case: Case) -> None:
    topic, group = case.topic(4, kind="FIFO"), case.consumers(orderly=True)
    with simple(case, topic, group, polling=20) as consumer:
        with sent_after(case, 2.0, topic, "wake up", order="g") as sent:
            (received,) = consumer.receive(1, ack=True)
        assert received["text"] == "wake up"
        assert received["at"] - sent[0] < 5000
