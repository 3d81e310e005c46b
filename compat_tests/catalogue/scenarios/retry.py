"""Messages that a consumer fails: retried later, dead letters after too many tries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.scenario import Need, scenario
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.names import dead_letter_topic

LATE: Final = 20_000  # ms that a try may be late on a machine that does much else
_RETRY: Final = (
    "Apache 4.9, SendMessageProcessor.consumerSendMsgBack and ConsumeMessageConcurrentlyService; "
    "rocketmq.apache.org, Consumer Retry"
)


def _known(case: Case) -> tuple[str, str]:
    """A topic of one queue and a group with its retry topic: a consumer of a new one queries that only after 20 s."""
    topic, group = case.topic(1, name="Retried", on_one=True), case.group()
    case.client.run("PushFailing", topic=topic, group=group, count=0, settle=0)
    return topic, group


def failing(body: str, fail: int = 99, **properties: str) -> Outgoing:
    """A message that a consumer fails so often."""
    return Outgoing(body=body, tags="R", keys=f"key-{body}", properties={"fail": str(fail), **properties})


def send(case: Case, topic: str, messages: Sequence[Outgoing]) -> dict[str, Event]:
    """The result of sending each message, by its body."""
    sent = case.doing("SendSync").only("sent", "SendSync", topic=topic, message=messages)
    return {message.body: event for message, event in zip(messages, sent, strict=True)}


def tries(received: Iterable[Event], body: str) -> list[Event]:
    """When a message was received, in order."""
    return [event for event in received if event["text"] == body]


@scenario(
    id="retry.comes-again",
    proves="A failed message is redelivered, counted, with topic, id, tag and keys; at last it is a dead letter.",
    source=_RETRY,
    needs=(Need.SHORT_DELAYS,),
    programs=("PushFailing", "PushConcurrent"),
    background=("SendSync",),
    limit=120,
)
def is_redelivered(case: Case) -> None:
    """Each try is counted; topic, first id, tag and keys stay; what fails too often is a dead letter."""
    topic, group = _known(case)
    messages = [
        failing("fine", 0),
        failing("twice", 2),
        failing("always"),
        failing("by-throwing", 1, how="throw"),
        failing("by-null", 1, how="null"),
        failing("at-its-level", 1, level="2"),
        failing("without-hope", level="-1"),
    ]
    sent = send(case, topic, messages)
    received = case.client.only("received", "PushFailing", topic=topic, group=group, most=2, count=14, settle=1_500)
    counts = {each.body: [event["reconsumeTimes"] for event in tries(received, each.body)] for each in messages}
    assert counts == {
        "fine": [0],
        "twice": [0, 1, 2],
        "always": [0, 1, 2],
        "by-throwing": [0, 1],
        "by-null": [0, 1],
        "at-its-level": [0, 1],
        "without-hope": [0],
    }
    for event in received:
        first = sent[event["text"]]
        assert (event["topic"], event["msgId"], event["tags"]) == (topic, first["msgId"], "R")
        assert event["keys"] == f"key-{event['text']}"
        if event["reconsumeTimes"]:
            assert _place(event["properties"][property_names.ORIGIN_MESSAGE_ID]) == _place(first["offsetMsgId"])
    for body, delay in (("twice", 1_000), ("at-its-level", 2_000)):
        for before, after in pairwise(tries(received, body)):
            assert delay - 100 < after["at"] - before["at"] < delay + LATE
    letters = case.client.only(
        "received", "PushConcurrent", topic=dead_letter_topic(group), group=case.group("dead"), count=2
    )
    assert {(letter["text"], letter["reconsumeTimes"]) for letter in letters} == {("always", 3), ("without-hope", 1)}


@scenario(
    id="retry.first-try",
    proves="A message that a consumer fails once is redelivered after the third delay level, counted as a second try.",
    source=_RETRY,
    needs=(Need.DELAYS_KNOWN, Need.QUICK_RETRY),
    programs=("PushFailing",),
    background=("SendSync",),
)
def first_try(case: Case) -> None:
    topic, group = _known(case)
    send(case, topic, [failing("once", 1)])
    received = case.client.only("received", "PushFailing", topic=topic, group=group, most=2, count=2, settle=500)
    assert [(event["text"], event["reconsumeTimes"], event["topic"]) for event in received] == [
        ("once", 0, topic),
        ("once", 1, topic),
    ]
    first, second = received
    delay = case.endpoint.delays[2]
    assert delay - 100 < second["at"] - first["at"] < delay + LATE


@scenario(
    id="retry.dead-letters-found",
    proves="Dead letters are found by their key and both ids; sent again they are messages like others.",
    source=f"{_RETRY}; rocketmq.apache.org, Dead-letter Message",
    needs=(Need.SHORT_DELAYS,),
    programs=("PushFailing", "DeadLetters", "PushConcurrent"),
    background=("SendSync",),
    limit=120,
)
def dead_letters_found(case: Case) -> None:
    """By their key, and then by their two ids; sent again they are messages like others."""
    topic, group = _known(case)
    messages = [failing(body, level="-1") for body in ("lost", "missed")]
    sent = send(case, topic, messages)
    case.client.run("PushFailing", topic=topic, group=group, count=2, settle=1_500)
    got = case.client.run(
        "DeadLetters", topic=dead_letter_topic(group), key=[message.keys or "" for message in messages]
    )
    for how in ("by key", "by offset id", "by unique key"):
        found = [event for event in got if event["event"] == how]
        assert [event["text"] for event in found] == ["lost", "missed"], how
        for event in found:
            assert event["topic"] == dead_letter_topic(group)
            assert event["msgId"] == sent[event["text"]]["msgId"]
            assert event["properties"][property_names.RETRY_TOPIC] == topic
            assert _place(event["properties"][property_names.ORIGIN_MESSAGE_ID]) == _place(
                sent[event["text"]]["offsetMsgId"]
            )
    again = case.client.only("received", "PushConcurrent", topic=topic, group=group, count=2)
    assert sorted((event["text"], event["topic"], event["reconsumeTimes"]) for event in again) == [
        ("lost", topic, 0),
        ("missed", topic, 0),
    ]


def _place(message_id: str) -> str:
    """The place in the log that the id of a record names; the address before it is another where a proxy answers."""
    return message_id[-16:]


def _orderly(case: Case, suspend: int, least: int) -> None:
    """A failed message blocks its queue; the client itself redelivers it until it is a dead letter."""
    topic, group = _known(case)
    messages = [failing("first", 0), failing("stuck"), failing("last", 1)]
    sent = send(case, topic, messages)
    received = case.client.only(
        "received",
        "PushFailing",
        topic=topic,
        group=group,
        mode="orderly",
        most=2,
        suspend=suspend,
        count=6,
    )
    assert [(event["text"], event["reconsumeTimes"]) for event in received] == [
        ("first", 0),
        ("stuck", 0),
        ("stuck", 1),
        ("stuck", 2),
        ("last", 0),
        ("last", 1),
    ]
    for before, after in pairwise(tries(received, "stuck")):
        assert least <= after["at"] - before["at"] < least + LATE
        assert after["queueOffset"] == before["queueOffset"]
    (letter,) = case.client.only(
        "received", "PushConcurrent", topic=dead_letter_topic(group), group=case.group("dead"), count=1, settle=0
    )
    # The client sends a dead letter itself: one of 5.x counts its last try, too.
    tried = 3 if case.client.version.startswith("5.") else 2
    assert (letter["text"], letter["reconsumeTimes"]) == ("stuck", tried)
    assert letter["properties"][property_names.RETRY_TOPIC] == topic
    if case.client.id != "java-4.4.0":  # names no message that it came from
        assert letter["properties"][property_names.ORIGIN_MESSAGE_ID] == sent["stuck"]["msgId"]


@scenario(
    id="retry.orderly",
    proves="A message that an orderly consumer fails blocks its queue and is redelivered, until it is a dead letter.",
    source="Apache 4.9, ConsumeMessageOrderlyService.processConsumeResult",
    needs=(Need.SHORT_DELAYS,),  # a dead letter comes after the delay of its last try
    programs=("PushFailing", "PushConcurrent"),
    background=("SendSync",),
)
def orderly(case: Case) -> None:
    _orderly(case, 300, 300)


@scenario(
    id="retry.orderly-at-least-10-ms",
    proves="An orderly consumer waits at least 10 ms before it tries a failed message again.",
    source="Apache 4.9, ConsumeMessageOrderlyService.submitConsumeRequestLater",
    needs=(Need.SHORT_DELAYS,),  # a dead letter comes after the delay of its last try
    programs=("PushFailing", "PushConcurrent"),
    background=("SendSync",),
)
def orderly_at_least_10_ms(case: Case) -> None:
    _orderly(case, 1, 10)


@scenario(
    id="retry.not-of-broadcast",
    proves="A broadcast message that a consumer fails is not tried again.",
    source="Apache 4.9, ConsumeMessageConcurrentlyService.processConsumeResult",
    needs=(Need.SHORT_DELAYS,),
    programs=("PushFailing",),
    background=("SendSync",),
)
def not_of_broadcast(case: Case) -> None:
    topic, group = _known(case)
    send(case, topic, [failing("once"), failing("also-once", level="-1")])
    received = case.client.only(
        "received", "PushFailing", topic=topic, group=group, mode="broadcast", count=2, settle=3_000
    )
    assert sorted(event["text"] for event in received) == ["also-once", "once"]
