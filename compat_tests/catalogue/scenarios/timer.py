"""Timer messages: delivery times, content, refusals and recalls. `Differences` lists where Apache's broker differs."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.endpoint import Facts
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.scenario import Need, scenario
from rocketwire.wire.facts import properties as names

DAY: Final = 24 * 60 * 60 * 1000  # ms
# ms that a message may be late on a machine that does much else; rocketwire's unit tests show how punctual it is.
LATE: Final = 10_000
ILLEGAL: Final = 13
_SOURCE: Final = "Apache 5.5, TimerMessageStore, HookUtils.handleScheduleMessage and RecallMessageProcessor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What differs: how late (ms) a message may come, how far ahead its time may be, what is made of some times."""

    late: int
    furthest: int
    refuses_negative: bool
    start_deliver_time: bool


ROCKETWIRE: Final = Differences(late=LATE, furthest=40 * DAY, refuses_negative=True, start_deliver_time=True)
# It delivers a second's messages when the second is over, and knows nothing of the cloud's property.
APACHE: Final = Differences(late=LATE + 1000, furthest=3 * DAY, refuses_negative=False, start_deliver_time=False)


def _differences(endpoint: Facts) -> Differences:
    return ROCKETWIRE if endpoint.is_rocketwire else APACHE


def timed(body: str, name: str, value: str, **more: str) -> Outgoing:
    """A message with one property of the system, its tag, keys and whatever else."""
    return Outgoing(body=body, tags=more.get("tags"), keys=more.get("keys"), system={name: value})


def due(event: Event) -> int:
    """When a received message was to come (ms), as far as its sender knew."""
    properties = event["properties"]
    for name, unit in ((names.TIMER_DELAY_SEC, 1000), (names.TIMER_DELAY_MS, 1)):
        if name in properties:
            return int(event["bornTimestamp"]) + int(properties[name]) * unit
    return int(properties.get(names.TIMER_DELIVER_MS) or properties[names.START_DELIVER_TIME])


def assert_on_time(event: Event, late: int) -> None:
    """It was not stored before its time, and not much later, or at once if its time was past."""
    after = max(due(event), event["bornTimestamp"])
    assert 0 <= event["storeTimestamp"] - after <= late, (event["storeTimestamp"] - after, event)


@scenario(
    id="timer.every-way",
    proves="Messages come at the times that 5.x clients set in every way; times too far are refused; recalls work.",
    source=_SOURCE,
    needs=(Need.TIMER, Need.RECALL),
    programs=("Timers", "PullAll", "Query"),
    clients=("java-5.5.0",),
    limit=120,
)
def every_way(case: Case) -> None:
    """Every way to set a time; refusals; recalls; and what is kept of a message."""
    client, group, differs = case.client, case.group(), _differences(case.endpoint)
    topic = case.topic(2, name="Timed", kind="DELAY", on_one=True)  # what cancels a message must reach its broker
    whole = time.time_ns() // 1_000_000_000 * 1000
    kept = [
        timed("seconds", names.TIMER_DELAY_SEC, "1", tags="TagA", keys="k1 k2"),
        timed("ms", names.TIMER_DELAY_MS, "1234", tags="TagB"),
        timed("at", names.TIMER_DELIVER_MS, "+6000", tags="TagA"),
        timed("whole second", names.TIMER_DELIVER_MS, str(whole + 3000)),
        timed("past", names.TIMER_DELIVER_MS, "+-5000", tags="TagB"),
        timed("a moment", names.TIMER_DELAY_MS, "1"),
    ]
    called_back = [
        timed("recalled", names.TIMER_DELIVER_MS, "+7000"),
        timed("cancelled", names.TIMER_DELIVER_MS, "+7000"),
    ]
    too_far = [timed("too far", names.TIMER_DELIVER_MS, f"+{differs.furthest + 60_000}")]
    negative = [timed("negative", names.TIMER_DELAY_MS, "-5")]
    every = [*kept, *called_back, *too_far, *negative]
    expected = kept if differs.refuses_negative else [*kept, *negative]
    got = client.run(
        "Timers",
        topic=topic,
        group=group,
        message=every,
        recall=[every.index(called_back[0])],
        cancel=[every.index(called_back[1])],
        count=len(expected),
        settle=2500,  # recalled messages do not come
    )
    received = events(got, "received")
    assert Counter(event["text"] for event in received) == Counter(message.body for message in expected)
    for event in received:
        assert_on_time(event, differs.late)
    by_text = {event["text"]: event for event in received}
    assert (by_text["seconds"]["tags"], by_text["seconds"]["keys"]) == ("TagA", "k1 k2")
    assert by_text["at"]["properties"][names.REAL_TOPIC] == topic
    assert {names.TIMER_OUT_MS, names.TIMER_ENQUEUE_MS, names.TIMER_DEQUEUE_MS} <= by_text["ms"]["properties"].keys()
    assert names.TIMER_OUT_MS not in by_text["past"]["properties"]

    refused = events(got, "refused")
    assert [event["code"] for event in refused] == [ILLEGAL] * (len(every) - len(expected) - len(called_back))
    for event in refused:
        assert event["message"].startswith(
            f"timer message illegal, the delay time should not be bigger than the max delay {differs.furthest}ms; "
            "or if set del msg, the delay time should be bigger than the current time"
        )
    sent = {event["msgId"]: event for event in events(got, "sent")}
    (recalled,) = events(got, "recalled")
    assert sent[recalled["msgId"]]["handle"]
    assert sent[by_text["past"]["msgId"]]["handle"] is None
    assert len(events(got, "cancelled")) == 1

    tagged = client.only("received", "PullAll", topic=topic, group=case.group("tag"), expression="TagB", count=2)
    assert sorted(event["text"] for event in tagged) == ["ms", "past"]
    found = client.only("by key", "Query", topic=topic, key=["k2"])
    assert topic in {event["topic"] for event in found}


@scenario(
    id="timer.of-4-x",
    proves="A 4.x client's messages with a delivery time come then; a delay level besides wins.",
    source=f"{_SOURCE}; help.aliyun.com, Scheduled and delayed messages (__STARTDELIVERTIME)",
    needs=(Need.TIMER, Need.DELAYS_KNOWN),
    programs=("Timers",),
    clients=("java-4.9.7",),
    limit=120,
)
def of_4_x(case: Case) -> None:
    """The property of the cloud's clients, and a delay level besides, which wins."""
    client, group, differs = case.client, case.group(), _differences(case.endpoint)
    topic = case.topic(1, name="Timed")
    messages = [
        timed("cloud", names.START_DELIVER_TIME, "+1700", keys="k"),
        timed("cloud, past", names.START_DELIVER_TIME, "+-1"),
        timed("at", names.TIMER_DELIVER_MS, "+800"),
        Outgoing(body="level", delay=1, system={names.TIMER_DELIVER_MS: "+20000"}),
    ]
    got = client.run("Timers", topic=topic, group=group, message=messages, count=len(messages), settle=300)
    received = {event["text"]: event for event in events(got, "received")}
    assert len(events(got, "received")) == len(messages) == len(received)
    level = received.pop("level")
    delay = case.endpoint.delays[0]
    assert delay <= level["storeTimestamp"] - level["bornTimestamp"] + 5 <= delay + LATE
    assert names.TIMER_DELIVER_MS not in level["properties"]
    if not differs.start_deliver_time:
        cloud = received.pop("cloud")
        assert cloud["storeTimestamp"] - cloud["bornTimestamp"] < LATE
    for event in received.values():
        assert_on_time(event, differs.late)
