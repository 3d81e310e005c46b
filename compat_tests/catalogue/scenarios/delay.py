"""Delay levels: delivery times, order and content."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.scenario import Need, scenario
from rocketwire.wire.facts import properties as names

LATE: Final = 10_000  # ms that a message may be late, on a machine that does much else
_LONGEST: Final = 10_000  # ms of a level that a scenario waits for
_LAST: Final = 18
_SOURCE: Final = "Apache 4.9, ScheduleMessageService; rocketmq.apache.org, Delayed Message Sending"


def lateness(event: Event, delay: int) -> int:
    """How long after it was due a message was delivered, by the times in its records."""
    return int(event["storeTimestamp"] - event["bornTimestamp"] - delay)


@scenario(
    id="delay.levels",
    proves="Under load each level comes in its time and its order, with tag and keys; it is found by its keys.",
    source=_SOURCE,
    needs=(Need.SHORT_DELAYS,),
    programs=("PushDelayed", "Query"),
    limit=120,
)
def levels(case: Case) -> None:
    topic, busy = case.topic(1, name="Delayed", on_one=True), case.topic(1, name="Busy", on_one=True)
    numbers = [1, 2, 3, _LAST, 99, 0, -1] * 5
    messages = [
        Outgoing(body=f"{level}:{number}", tags=f"Tag{level}", keys=f"key{number}", delay=level)
        for number, level in enumerate(numbers)
    ]
    got = case.client.run(
        "PushDelayed", topic=topic, busy=busy, group=case.group(), message=messages, count=len(messages), settle=1200
    )
    received = events(got, "received")
    assert sorted(event["text"] for event in received) == sorted(message.body for message in messages)
    (load,) = events(got, "busy")
    assert load["sent"] > 100
    for event in received:
        level = int(event["text"].partition(":")[0])
        assert (event["tags"], event["keys"]) == (f"Tag{level}", f"key{event['text'].partition(':')[2]}")
        if level > 0:
            delay = case.endpoint.delays[min(level, _LAST) - 1]
            assert -5 <= lateness(event, delay) <= LATE, event
            assert event["properties"][names.REAL_TOPIC] == topic
            assert event["properties"][names.DELAY] == str(min(level, _LAST))
        else:
            assert event["storeTimestamp"] - event["bornTimestamp"] < LATE
    in_queue = sorted(received, key=lambda event: event["queueOffset"])
    for of_level in ({1}, {2}, {3}, {_LAST, 99}):
        order = [int(e["text"].partition(":")[2]) for e in in_queue if int(e["text"].partition(":")[0]) in of_level]
        assert order == sorted(order)
    found = case.client.only("by key", "Query", topic=topic, key=["key0", "key3", "key4"])
    assert [event["text"] for event in found] == ["1:0", "18:3", "99:4"]
    assert {event["topic"] for event in found} == {topic}


@scenario(
    id="delay.first-levels",
    proves="Messages of the first levels, up to 10 s, come when they are due, each once.",
    source=_SOURCE,
    needs=(Need.DELAYS_KNOWN,),
    programs=("SendSync", "PushConcurrent"),
)
def first_levels(case: Case) -> None:
    topic = case.topic(1, name="Delayed")
    delays = {level: delay for level, delay in enumerate(case.endpoint.delays, start=1) if delay <= _LONGEST}
    wanted = [level for level in delays if level <= 3]
    messages = [Outgoing(body=f"{level}", tags="T", keys=f"k{level}", delay=level) for level in wanted]
    case.client.run("SendSync", topic=topic, message=messages)
    received = case.client.only("received", "PushConcurrent", topic=topic, group=case.group(), count=len(messages))
    assert sorted(int(event["text"]) for event in received) == wanted
    for event in received:
        assert -5 <= lateness(event, delays[int(event["text"])]) <= LATE, event
        assert (event["topic"], event["tags"], event["keys"]) == (topic, "T", f"k{event['text']}")


@scenario(
    id="delay.by-tag",
    proves="A filter by tag sees delayed messages as others.",
    source="Apache 4.9, ScheduleMessageService.messageTimeup and MessageExtBrokerInner.tagsString2tagsCode",
    needs=(Need.DELAYS_KNOWN,),
    programs=("SendSync", "PushConcurrent"),
)
def by_tag(case: Case) -> None:
    topic = case.topic(2, name="Delayed")
    messages = [Outgoing(body=str(number), tags="AB"[number % 2], delay=1) for number in range(10)]
    case.client.run("SendSync", topic=topic, message=messages)
    wanted = {"topic": topic, "group": case.group(), "expression": "B"}
    received = case.client.only("received", "PushConcurrent", wanted, count=5)
    assert sorted(event["text"] for event in received) == ["1", "3", "5", "7", "9"]
