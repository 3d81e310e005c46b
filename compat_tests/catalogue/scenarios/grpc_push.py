"""Push consumers of 5.x: each message once, what fails is redelivered after a while, and becomes a dead letter."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.messages import Outgoing, assert_same
from rocketwire.compat.scenario import scenario
from rocketwire.compat.sdk import LATE, PUSH, publish, push, sent_after
from rocketwire.wire.names import dead_letter_topic

_SOURCE: Final = "rocketmq.apache.org, Consumer Types: PushConsumer"
_RETRY: Final = "rocketmq.apache.org, Consumption Retry: PushConsumer; 5.5, CustomizedRetryPolicy: 1 s, 5 s, 10 s"
_MANY: Final = 60
_BACK_OFF: Final = (1.0, 5.0)  # seconds


@scenario(
    id="grpc-push.each-once",
    proves="A push consumer's listener gets each message whole and once, older ones and new ones.",
    source=_SOURCE,
    programs=("Publish", *PUSH),
)
def each_once(case: Case) -> None:
    topic, group = case.topic(4, kind="NORMAL"), case.consumers()
    messages = [Outgoing(body=f"消息 {n}", tags="T", keys=f"k{n}", properties={"n": str(n)}) for n in range(_MANY)]
    publish(case, topic, messages[:10])
    with push(case, topic, group) as consumer:
        early = consumer.taken(10)
        publish(case, topic, messages[10:], **{"async": 1})
        received = {event["text"]: event for event in (*early, *consumer.taken(_MANY - 10, settle=2000))}
        assert len(received) == _MANY
        for each in messages:
            assert_same(received[each.body], each)
            assert received[each.body]["attempt"] == 1
        assert consumer.taken(0) == []


@scenario(
    id="grpc-push.woken",
    proves="A message reaches the listener of a push consumer that waits within a moment.",
    source="Apache 5.5, PopLongPollingService of the broker",
    programs=PUSH,
)
def woken(case: Case) -> None:
    topic, group = case.topic(2, kind="NORMAL"), case.consumers()
    with push(case, topic, group) as consumer:
        time.sleep(6)  # until it has its queues
        with sent_after(case, 0.5, topic, "wake up") as sent:
            (received,) = consumer.taken(1)
        assert received["text"] == "wake up"
        assert received["at"] - sent[0] < 5000


@scenario(
    id="grpc-push.comes-again",
    proves="A message whose listener fails or throws is redelivered after a while, and is counted; others are not.",
    source=_RETRY,
    programs=("Publish", *PUSH),
)
def is_redelivered(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    messages = [
        Outgoing(body="fails", properties={"fail": "1"}),
        Outgoing(body="throws", properties={"fail": "1", "how": "throw"}),
        Outgoing(body="fine"),
    ]
    publish(case, topic, messages)
    with push(case, topic, group) as consumer:
        received = consumer.taken(5)
    assert sorted((event["text"], event["attempt"]) for event in received) == [
        ("fails", 1),
        ("fails", 2),
        ("fine", 1),
        ("throws", 1),
        ("throws", 2),
    ]
    for body in ("fails", "throws"):
        first, second = (event for event in received if event["text"] == body)
        assert first["msgId"] == second["msgId"]
        assert (second["at"] - first["at"]) / 1000 < LATE


@scenario(
    id="grpc-push.back-off",
    proves="A message that fails again and again comes after 1 s at first, then after 5 s.",
    source=_RETRY,
    programs=("Publish", *PUSH),
)
def back_off(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    publish(case, topic, [Outgoing(body="fails", properties={"fail": "2"})])
    with push(case, topic, group) as consumer:
        received = consumer.taken(3)
    assert [event["attempt"] for event in received] == [1, 2, 3]
    for (before, after), seconds in zip(pairwise(received), _BACK_OFF, strict=True):
        assert seconds - 0.5 <= (after["at"] - before["at"]) / 1000 < seconds + LATE


@scenario(
    id="grpc-push.dead-letter",
    proves="A message that failed as often as its group allows becomes a dead letter; it is not redelivered.",
    source="rocketmq.apache.org, Consumption Retry: maximum retries; Apache 5.5, ReceiveMessageResponseStreamWriter",
    programs=("Publish", *PUSH),
    limit=120,
)
def dead_letter(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers(retries=1)
    sent = publish(case, topic, [Outgoing(body="lost", tags="T", keys="k", properties={"fail": "99"})])
    with push(case, topic, group) as consumer:
        received = consumer.taken(2)
        assert [event["attempt"] for event in received] == [1, 2]
        letters = dead_letter_topic(group)
        case.wait_until(lambda: case.has_topic(letters), "the topic of dead letters exists")
        (letter,) = case.read(letters, 1)
        assert (letter["text"], letter["tags"]) == ("lost", "T")
        assert (letter["keys"], letter["msgId"]) == ("k", sent["lost"]["msgId"])
        assert consumer.taken(0, settle=3000) == []
