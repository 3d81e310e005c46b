"""The lite pull consumer (4.6 and later), subscribing and assigned; the old pull consumer at every edge of a queue."""

from __future__ import annotations

import pytest

from rocketwire.compat.clients.client import Client, events
from rocketwire.compat.messages import Outgoing, assert_each_once, assert_same

WITH_LITE = ("4.9.7", "5.5.0")


@pytest.fixture
def lite(request: pytest.FixtureRequest, client: Client, target: str) -> Client:
    """A client with a lite pull consumer. That of 5.x pulls with code 361, which Apache's 4.9.7 doesn't know."""
    if client.version == "5.5.0" and target == "apache-4.9.7":
        request.applymarker(pytest.mark.xfail(reason="Apache 4.9.7 answers 361 with code 3", strict=True))
    return client


@pytest.mark.parametrize("version", WITH_LITE)
def test_lite_subscribe(lite: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"lite {i}", tags="A" if i % 2 else "B", keys=f"键{i}") for i in range(40)]
    lite.run("SendSync", topic=topic, message=messages)
    received = lite.only("received", "LiteSubscribe", topic=topic, group=group, count=40)
    assert_each_once(received, messages)


@pytest.mark.parametrize("version", WITH_LITE)
def test_lite_subscribe_goes_on_where_it_committed(lite: Client, topic: str, group: str) -> None:
    first = [Outgoing(body=f"first {i}", tags="A" if i % 2 else "B") for i in range(20)]
    lite.run("SendSync", topic=topic, message=first)
    wanted = {"topic": topic, "group": group, "expression": "A"}
    assert len(lite.only("received", "LiteSubscribe", wanted, count=10)) == 10
    second = [Outgoing(body=f"second {i}", tags="A" if i % 2 else "B") for i in range(20)]
    lite.run("SendSync", topic=topic, message=second)
    received = lite.only("received", "LiteSubscribe", wanted, count=10)
    assert_each_once(received, [message for message in second if message.tags == "A"])


@pytest.mark.parametrize("version", WITH_LITE)
def test_lite_assign(lite: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"assigned {i}", queue=2) for i in range(12)]
    lite.run("SendToQueue", topic=topic, message=[*messages, Outgoing(body="elsewhere", queue=1)])
    # "from" is no Python name for an argument
    arguments: dict[str, str | int] = {"topic": topic, "group": group, "queue": 2, "from": 5, "count": 7, "all": 12}
    got = lite.run("LiteAssign", arguments)
    after_seek = [event for event in events(got, "received") if event["by"] == "after seek"]
    assert [event["text"] for event in after_seek] == [f"assigned {i}" for i in range(5, 12)]
    again = [event for event in events(got, "received") if event["by"] == "from the beginning"]
    assert [event["text"] for event in again] == [f"assigned {i}" for i in range(12)]
    (committed,) = events(got, "committed")
    assert (committed["offset"], committed["offsetOfTimeZero"]) == (12, 0)


def test_old_pull_reads_in_order(client: Client, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"{i}", queue=0, tags="A") for i in range(100)]
    client.run("SendToQueue", topic=topic, message=messages)
    got = client.run("PullAll", topic=topic, group=group, count=100)
    assert [event["text"] for event in events(got, "received")] == [message.body for message in messages]
    (filled,) = [event for event in events(got, "queue") if event["max"]]
    assert (filled["min"], filled["max"]) == (0, 100)
    assert [(p["from"], p["count"], p["next"]) for p in events(got, "pulled")] == [
        (0, 32, 32),
        (32, 32, 64),
        (64, 32, 96),
        (96, 4, 100),
    ]


def test_old_pull_by_tag(client: Client, topic: str, group: str) -> None:
    """The broker leaves other tags out and moves the next offset past them."""
    messages = [Outgoing(body=f"{i}", queue=1, tags="A" if i % 10 == 3 else "B") for i in range(40)]
    client.run("SendToQueue", topic=topic, message=messages)
    got = client.run("PullAll", topic=topic, group=group, expression="A", count=4)
    assert [event["text"] for event in events(got, "received")] == ["3", "13", "23", "33"]
    last = events(got, "pulled")[-1]
    assert last["next"] == 40
    nothing = client.run("PullAll", topic=topic, group=group, expression="C")
    assert {event["status"] for event in events(nothing, "pulled")} == {"NO_MATCHED_MSG"}


def test_old_pull_past_either_end(client: Client, topic: str, group: str) -> None:
    client.run("SendToQueue", topic=topic, message=[Outgoing(body=f"{i}", queue=0) for i in range(5)])
    client.run("PullAll", topic=topic, group=group, count=5)  # Apache fills its queues behind the log
    # One past the end (nothing new, the client may wait), far past it, and inside.
    got = client.run("PullAt", topic=topic, group=group, queue=0, offset=[6, 100, 4, 0], atOnce=2)
    told = [(event["from"], event["status"], event["next"], event["count"]) for event in events(got, "pulled")]
    assert told == [
        (6, "OFFSET_ILLEGAL", 5, 0),
        (100, "OFFSET_ILLEGAL", 5, 0),
        (4, "FOUND", 5, 1),
        (0, "FOUND", 2, 2),
    ]
    assert {(event["min"], event["max"]) for event in events(got, "pulled")} == {(0, 5)}


def test_pull_block_if_not_found(client: Client, topic: str, group: str) -> None:
    """At a queue's end the broker holds the pull: as long as asked, or until a message comes."""
    message = Outgoing(body="it came", tags="T")
    got = client.run("PullBlocking", topic=topic, group=group, suspend=2_000, after=700, message=[message])
    in_vain, woken = events(got, "pulled")
    assert in_vain["status"] == "NO_NEW_MSG"
    assert 1_800 <= in_vain["took"] < 15_000
    assert woken["status"] == "FOUND"
    assert 700 <= woken["took"] < 15_000  # not when its 20 s are over
    (received,) = events(got, "received")
    assert_same(received, message)


def test_offsets_and_times(client: Client, topic: str, group: str) -> None:
    """First and last offset, offset by time, earliest store time; a group's offset, one client's put, another's get."""
    messages = [Outgoing(body=f"{i}", queue=0) for i in range(10)]
    client.run("SendToQueue", topic=topic, message=messages[:5])
    client.run("SendToQueue", topic=topic, message=messages[5:])  # a new client, so some ms later
    read = client.only("received", "PullAll", topic=topic, group=group, count=10)
    times = [event["storeTimestamp"] for event in read]
    got = client.run("PullOffsets", topic=topic, group=group, store=7, time=times[5])
    (offsets,) = events(got, "offsets")
    assert (offsets["min"], offsets["max"]) == (0, 10)
    assert offsets["earliestStoreTime"] == times[0]
    assert offsets["atZero"] == 0
    assert offsets["later"] in {9, 10}
    assert times[offsets["atTime"]] == times[5]
    assert offsets["stored"] == 0  # a group that stored nothing yet begins at the first offset
    (stored,) = events(got, "stored")
    assert stored["offset"] == 7
