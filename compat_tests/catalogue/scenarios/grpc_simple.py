"""Simple consumers of 5.x: receive, acknowledge, change the invisible time; what is not acknowledged is redelivered."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.messages import Outgoing, assert_same
from rocketwire.compat.scenario import scenario
from rocketwire.compat.sdk import LATE, SHORTEST, SIMPLE, publish, sent_after, simple

_SOURCE: Final = "rocketmq.apache.org, Consumer Types: SimpleConsumer; Apache 5.5, ReceiveMessageActivity of the proxy"
_MANY: Final = 100


@scenario(
    id="grpc-simple.acknowledged",
    proves="A simple consumer receives each message whole and once; what it acknowledged is not redelivered.",
    source=_SOURCE,
    programs=("Publish", *SIMPLE, "Ack"),
)
def acknowledged(case: Case) -> None:
    topic, group = case.topic(4, kind="NORMAL"), case.consumers()
    messages = [Outgoing(body=f"消息 {n}", tags="T", keys=f"k{n}", properties={"n": str(n)}) for n in range(5)]
    sent = publish(case, topic, messages)
    with simple(case, topic, group) as consumer:
        received = {event["text"]: event for event in consumer.receive(5, invisible=SHORTEST)}
        assert set(received) == set(sent)
        for each in messages:
            event = received[each.body]
            assert_same(event, each)
            assert event["msgId"] == sent[each.body]["msgId"]
            assert (event["topic"], event["attempt"], event["messageGroup"]) == (topic, 1, None)
        assert consumer.ack(*received.values()) == []
        assert consumer.rest(SHORTEST + 3) == []


@scenario(
    id="grpc-simple.comes-again",
    proves="A message that is not acknowledged is redelivered after its invisible time, not before, and is counted.",
    source=_SOURCE,
    programs=("Publish", *SIMPLE, "Ack"),
    limit=120,
)
def is_redelivered(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    sent = publish(case, topic, [Outgoing(body="again", keys="k", tags="T", properties={"a": "b"})])
    with simple(case, topic, group) as consumer:
        (first,) = consumer.receive(1, invisible=SHORTEST)
        (second,) = consumer.receive(1, invisible=SHORTEST)
        assert second["msgId"] == first["msgId"] == sent["again"]["msgId"]
        assert (first["attempt"], second["attempt"]) == (1, 2)
        assert_same(second, Outgoing(body="again", keys="k", tags="T", properties={"a": "b"}))
        assert second["topic"] == topic
        waited = (second["at"] - first["at"]) / 1000
        assert SHORTEST - 0.5 <= waited < SHORTEST + LATE
        assert consumer.ack(second) == []
        assert consumer.rest(SHORTEST + 3) == []


@scenario(
    id="grpc-simple.invisible-time-changed",
    proves="A changed invisible time counts from then on: a shorter and a longer one, one after the other.",
    source="Apache 5.5, ChangeInvisibleDurationActivity of the proxy",
    programs=("Publish", *SIMPLE, "Ack", "ChangeInvisible"),
    limit=120,
)
def invisible_time_changed(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    publish(case, topic, [Outgoing(body="soon"), Outgoing(body="later")])
    with simple(case, topic, group) as consumer:
        first = {event["text"]: event for _ in range(2) for event in consumer.receive(1, most=1, invisible=60)}
        assert set(first) == {"soon", "later"}
        assert consumer.change(first["soon"], 2) == []
        assert consumer.change(first["later"], 5) == []
        assert consumer.change(first["later"], 9) == []  # by the handle that the first change brought
        again = consumer.receive(2, invisible=60)
        assert [event["text"] for event in again] == ["soon", "later"]
        assert [event["attempt"] for event in again] == [2, 2]
        for event, seconds in zip(again, (2, 9), strict=True):
            waited = (event["at"] - first[event["text"]]["at"]) / 1000
            assert seconds - 0.5 <= waited < seconds + LATE
        assert consumer.ack(*again) == []
        assert consumer.rest(3) == []


@scenario(
    id="grpc-simple.changed-in-a-batch",
    proves="After a change of its invisible time a message is acknowledged or changed, also if others came with it.",
    source="docs/delivery.md; Apache 5.5 takes no acknowledgement of a changed one that was not the first of its batch",
    ours_only=True,
    programs=("Publish", *SIMPLE, "Ack", "ChangeInvisible"),
)
def changed_in_a_batch(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    publish(case, topic, [Outgoing(body=body) for body in ("first", "acknowledged", "changed")])
    with simple(case, topic, group) as consumer:
        received = {event["text"]: event for event in consumer.receive(3, invisible=60)}
        for event in received.values():
            assert consumer.change(event, 3) == []
        assert consumer.ack(received["first"], received["acknowledged"]) == []
        assert consumer.change(received["changed"], 8) == []
        again = consumer.receive(1, ack=True)
        assert [event["text"] for event in again] == ["changed"]
        assert (again[0]["at"] - received["changed"]["at"]) / 1000 >= 7.5
        assert consumer.rest(1) == []


@scenario(
    id="grpc-simple.late-acknowledgement",
    proves="An acknowledgement after the invisible time is refused, and the message is redelivered.",
    source="Apache 5.5, AckMessageActivity of the proxy: code 40013",
    programs=("Publish", *SIMPLE, "Ack", "ChangeInvisible"),
)
def late_acknowledgement(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    publish(case, topic, [Outgoing(body="late")])
    with simple(case, topic, group) as consumer:
        (first,) = consumer.receive(1, invisible=SHORTEST)
        case.pause(SHORTEST + 1)
        (refused,) = consumer.ack(first)
        assert refused["code"] in {None, 40013}
        (second,) = consumer.receive(1)
        assert (second["msgId"], second["attempt"]) == (first["msgId"], 2)
        assert consumer.ack(second) == []


@scenario(
    id="grpc-simple.many",
    proves="Many messages come in batches, each once, from all queues of a topic.",
    source=_SOURCE,
    programs=("Publish", *SIMPLE),
)
def many(case: Case) -> None:
    topic, group = case.topic(4, kind="NORMAL"), case.consumers()
    sent = publish(case, topic, [Outgoing(body=str(number)) for number in range(_MANY)], **{"async": 1})
    with simple(case, topic, group) as consumer:
        received = consumer.receive(_MANY, ack=True)
        assert sorted(event["text"] for event in received) == sorted(sent)
        assert {event["attempt"] for event in received} == {1}
        assert consumer.rest(1) == []


@scenario(
    id="grpc-simple.shared",
    proves="Two consumers of a group share its messages; another group gets all of them again.",
    source="rocketmq.apache.org, Load Balancing for Consumers: SimpleConsumer, by message",
    programs=("Publish", *SIMPLE),
)
def shared(case: Case) -> None:
    topic, group, other = case.topic(1, kind="NORMAL"), case.consumers(), case.consumers()
    bodies = sorted(str(number) for number in range(6))
    publish(case, topic, [Outgoing(body=body) for body in bodies])
    with simple(case, topic, group) as one, simple(case, topic, group) as two:
        received = one.receive(2, most=2, ack=True)
        assert len(received) == 2
        received += two.receive(4, ack=True)
        assert sorted(event["text"] for event in received) == bodies
        assert one.rest(1) == []
    with simple(case, topic, other) as third:
        assert sorted(event["text"] for event in third.receive(6, ack=True)) == bodies


@scenario(
    id="grpc-simple.woken",
    proves="A receive that waits is answered as soon as a message comes.",
    source="Apache 5.5, PopLongPollingService of the broker",
    programs=SIMPLE,
)
def woken(case: Case) -> None:
    topic, group = case.topic(2, kind="NORMAL"), case.consumers()
    with simple(case, topic, group, polling=20) as consumer:
        with sent_after(case, 2.0, topic, "wake up") as sent:
            (received,) = consumer.receive(1, ack=True)
        assert received["text"] == "wake up"
        assert received["at"] - sent[0] < 5000
