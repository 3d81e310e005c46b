"""The lite pull consumer (4.6 and later), subscribing and assigned; the old pull consumer at every edge of a queue."""

from __future__ import annotations

from rocketwire.compat.case import Case, NotPossible
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, assert_each_once, assert_same
from rocketwire.compat.scenario import scenario

_LITE = "Apache 4.9, DefaultLitePullConsumerImpl; rocketmq.apache.org, Pull Consumer"
_OLD = "Apache 4.9, PullMessageProcessor and DefaultMessageStore.getMessage"


def _needs_lite_pull(case: Case) -> None:
    """5.x clients' lite consumers pull with a code that Apache has since 5.0."""
    if case.client.id == "java-5.5.0" and case.endpoint.is_apache_4:
        raise NotPossible("Apache 4.9.7 answers the code 361 of this client's pulls with code 3")


@scenario(
    id="pull.lite-subscribe",
    proves="A lite pull consumer that subscribes gets every message once.",
    source=_LITE,
    programs=("LiteSubscribe",),
    background=("SendSync",),
)
def lite_subscribe(case: Case) -> None:
    _needs_lite_pull(case)
    topic = case.topic()
    messages = [Outgoing(body=f"lite {i}", tags="A" if i % 2 else "B", keys=f"键{i}") for i in range(40)]
    case.doing("SendSync").run("SendSync", topic=topic, message=messages)
    received = case.client.only("received", "LiteSubscribe", topic=topic, group=case.group(), count=40)
    assert_each_once(received, messages)


@scenario(
    id="pull.lite-goes-on",
    proves="A lite pull consumer continues where its group committed, and gets the tags that it subscribes to.",
    source=_LITE,
    programs=("LiteSubscribe",),
    background=("SendSync",),
)
def lite_continues(case: Case) -> None:
    _needs_lite_pull(case)
    topic = case.topic()
    sender = case.doing("SendSync")
    first = [Outgoing(body=f"first {i}", tags="A" if i % 2 else "B") for i in range(20)]
    sender.run("SendSync", topic=topic, message=first)
    wanted = {"topic": topic, "group": case.group(), "expression": "A"}
    assert len(case.client.only("received", "LiteSubscribe", wanted, count=10)) == 10
    second = [Outgoing(body=f"second {i}", tags="A" if i % 2 else "B") for i in range(20)]
    sender.run("SendSync", topic=topic, message=second)
    received = case.client.only("received", "LiteSubscribe", wanted, count=10)
    assert_each_once(received, [message for message in second if message.tags == "A"])


@scenario(
    id="pull.lite-assign",
    proves="A lite pull consumer reads queues that it chooses, seeks in them, and commits its offset.",
    source=_LITE,
    programs=("LiteAssign",),
    background=("SendToQueue",),
)
def lite_assign(case: Case) -> None:
    _needs_lite_pull(case)
    topic = case.topic()
    messages = [Outgoing(body=f"assigned {i}", queue=2) for i in range(12)]
    case.send_to_queues(topic, [*messages, Outgoing(body="elsewhere", queue=1)])
    # "from" is no Python name for an argument
    arguments: dict[str, str | int] = {"topic": topic, "group": case.group()}
    got = case.client.run("LiteAssign", arguments | {"queue": 2, "from": 5, "count": 7, "all": 12})
    after_seek = [event for event in events(got, "received") if event["by"] == "after seek"]
    assert [event["text"] for event in after_seek] == [f"assigned {i}" for i in range(5, 12)]
    again = [event for event in events(got, "received") if event["by"] == "from the beginning"]
    assert [event["text"] for event in again] == [f"assigned {i}" for i in range(12)]
    (committed,) = events(got, "committed")
    assert (committed["offset"], committed["offsetOfTimeZero"]) == (12, 0)


@scenario(
    id="pull.in-order",
    proves="Pulls read a queue in its order, 32 messages at a time, and return where the next one begins.",
    source=_OLD,
    programs=("PullAll",),
    background=("SendToQueue",),
)
def in_order(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"{i}", queue=0, tags="A") for i in range(100)]
    case.send_to_queues(topic, messages)
    got = case.client.run("PullAll", topic=topic, group=case.group(), count=100)
    assert [event["text"] for event in events(got, "received")] == [message.body for message in messages]
    (filled,) = [event for event in events(got, "queue") if event["max"]]
    assert (filled["min"], filled["max"]) == (0, 100)
    assert [(p["from"], p["count"], p["next"]) for p in events(got, "pulled")] == [
        (0, 32, 32),
        (32, 32, 64),
        (64, 32, 96),
        (96, 4, 100),
    ]


@scenario(
    id="pull.by-tag",
    proves="The broker leaves other tags out of a pull, and moves the next offset past them.",
    source=f"{_OLD}; rocketmq.apache.org, Message Filtering",
    programs=("PullAll",),
    background=("SendToQueue",),
)
def by_tag(case: Case) -> None:
    topic, group = case.topic(), case.group()
    case.send_to_queues(topic, [Outgoing(body=f"{i}", queue=1, tags="A" if i % 10 == 3 else "B") for i in range(40)])
    got = case.client.run("PullAll", topic=topic, group=group, expression="A", count=4)
    assert [event["text"] for event in events(got, "received")] == ["3", "13", "23", "33"]
    assert events(got, "pulled")[-1]["next"] == 40
    nothing = case.client.run("PullAll", topic=topic, group=group, expression="C")
    assert {event["status"] for event in events(nothing, "pulled")} == {"NO_MATCHED_MSG"}


@scenario(
    id="pull.past-the-ends",
    proves="A pull past a queue's end is sent back to it; pulls inside it bring its messages.",
    source=_OLD,
    programs=("PullAt",),
    background=("SendToQueue",),
)
def past_the_ends(case: Case) -> None:
    topic = case.topic()
    case.send_to_queues(topic, [Outgoing(body=f"{i}", queue=0) for i in range(5)])
    case.read(topic, 5)  # Apache fills its queues behind the log
    # One past the end (nothing new, the client may wait), far past it, and inside.
    got = case.client.run("PullAt", topic=topic, group=case.group(), queue=0, offset=[6, 100, 4, 0], atOnce=2)
    reported = [(event["from"], event["status"], event["next"], event["count"]) for event in events(got, "pulled")]
    assert reported == [
        (6, "OFFSET_ILLEGAL", 5, 0),
        (100, "OFFSET_ILLEGAL", 5, 0),
        (4, "FOUND", 5, 1),
        (0, "FOUND", 2, 2),
    ]
    assert {(event["min"], event["max"]) for event in events(got, "pulled")} == {(0, 5)}


@scenario(
    id="pull.block-if-not-found",
    proves="At a queue's end the broker holds a pull: as long as requested, or until a message comes.",
    source="Apache 4.9, PullRequestHoldService",
    programs=("PullBlocking",),
)
def block_if_not_found(case: Case) -> None:
    topic = case.topic()
    message = Outgoing(body="it came", tags="T")
    got = case.client.run("PullBlocking", topic=topic, group=case.group(), suspend=2_000, after=700, message=[message])
    without_result, woken = events(got, "pulled")
    assert without_result["status"] == "NO_NEW_MSG"
    assert 1_800 <= without_result["took"] < 15_000
    assert woken["status"] == "FOUND"
    assert 700 <= woken["took"] < 15_000  # not when its 20 s are over
    (received,) = events(got, "received")
    assert_same(received, message)
