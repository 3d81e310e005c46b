"""Messages that a consumer fails: retried later, dead letters after too many tries. Retries take seconds here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import pytest

from compat_tests import remoting
from compat_tests.store_steps import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Event, Outgoing

CREATE_TOPIC = 17
CREATE_GROUP = 200
SEND_BACK = 36
LATE = 20_000  # ms that a try may be late on a machine that does much else


@pytest.fixture
def retrying(clients: Clients, swift: Endpoint, version: str) -> Client:
    """Each official client in turn, where retries take seconds."""
    return Client(clients=clients, id=f"java-{version}", namesrv=swift.namesrv)


@pytest.fixture
def swift_topic(swift_client: Client, unique: Callable[[str], str]) -> str:
    """A topic with one queue of its own."""
    name = unique("Retried")
    swift_client.run("CreateTopic", topic=name, queues=1)
    return name


@pytest.fixture
def known_group(swift_client: Client, swift_topic: str, group: str) -> str:
    """A group that has its retry topic: a consumer of a new one looks for it only 20 s after its start."""
    swift_client.run("PushFailing", topic=swift_topic, group=group, count=0, settle=0)
    return group


def failing(body: str, fail: int = 99, **properties: str) -> Outgoing:
    """A message that a consumer fails so often."""
    return Outgoing(body=body, tags="R", keys=f"key-{body}", properties={"fail": str(fail), **properties})


def send(client: Client, topic: str, messages: Sequence[Outgoing]) -> dict[str, Event]:
    """What sending said of each message, by its body."""
    sent = client.only("sent", "SendSync", topic=topic, message=messages)
    return {message.body: event for message, event in zip(messages, sent, strict=True)}


def tries(received: Iterable[Event], body: str) -> list[Event]:
    """When a message was received, in order."""
    return [event for event in received if event["text"] == body]


def test_failed_messages_come_again(retrying: Client, swift_topic: str, known_group: str) -> None:
    """Each try is counted; topic, first id, tag and keys stay; what fails too often is a dead letter."""
    group = known_group
    messages = [
        failing("fine", 0),
        failing("twice", 2),
        failing("always"),
        failing("by-throwing", 1, how="throw"),
        failing("by-null", 1, how="null"),
        failing("at-its-level", 1, level="2"),
        failing("without-hope", level="-1"),
    ]
    sent = send(retrying, swift_topic, messages)
    received = retrying.only("received", "PushFailing", topic=swift_topic, group=group, most=2, count=14, settle=1_500)
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
        assert (event["topic"], event["msgId"], event["tags"]) == (swift_topic, first["msgId"], "R")
        assert event["keys"] == f"key-{event['text']}"
        if event["reconsumeTimes"]:
            assert event["properties"]["ORIGIN_MESSAGE_ID"] == first["offsetMsgId"]
    for body, delay in (("twice", 1_000), ("at-its-level", 2_000)):
        for before, after in pairwise(tries(received, body)):
            assert delay - 100 < after["at"] - before["at"] < delay + LATE
    letters = retrying.only("received", "PushConcurrent", topic=f"%DLQ%{group}", group=f"{group}_dead", count=2)
    assert {(letter["text"], letter["reconsumeTimes"]) for letter in letters} == {("always", 3), ("without-hope", 1)}


def test_dead_letters_are_found_and_sent_anew(swift_client: Client, swift_topic: str, known_group: str) -> None:
    """By their key, and then by their two ids; sent anew they are messages like others."""
    messages = [failing(body, level="-1") for body in ("lost", "missed")]
    sent = send(swift_client, swift_topic, messages)
    swift_client.run("PushFailing", topic=swift_topic, group=known_group, count=2, settle=1_500)
    got = swift_client.run("DeadLetters", topic=f"%DLQ%{known_group}", key=[message.keys or "" for message in messages])
    for how in ("by key", "by offset id", "by unique key"):
        found = [event for event in got if event["event"] == how]
        assert [event["text"] for event in found] == ["lost", "missed"], how
        for event in found:
            assert event["topic"] == f"%DLQ%{known_group}"
            assert event["msgId"] == sent[event["text"]]["msgId"]
            assert event["properties"]["RETRY_TOPIC"] == swift_topic
            assert event["properties"]["ORIGIN_MESSAGE_ID"] == sent[event["text"]]["offsetMsgId"]
    again = swift_client.only("received", "PushConcurrent", topic=swift_topic, group=known_group, count=2)
    assert sorted((event["text"], event["topic"], event["reconsumeTimes"]) for event in again) == [
        ("lost", swift_topic, 0),
        ("missed", swift_topic, 0),
    ]


@pytest.mark.parametrize(("suspend", "least"), [(300, 300), (1, 10)])
def test_orderly_consumption_waits_for_its_message(
    swift_client: Client, swift_topic: str, known_group: str, suspend: int, least: int
) -> None:
    """A failed message holds its queue up; it comes again at once, no broker asked, until it is a dead letter."""
    messages = [failing("first", 0), failing("stuck"), failing("last", 1)]
    sent = send(swift_client, swift_topic, messages)
    received = swift_client.only(
        "received",
        "PushFailing",
        topic=swift_topic,
        group=known_group,
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
    (letter,) = swift_client.only(
        "received", "PushConcurrent", topic=f"%DLQ%{known_group}", group=f"{known_group}_dead", count=1, settle=0
    )
    assert (letter["text"], letter["reconsumeTimes"]) == ("stuck", 2)
    assert letter["properties"]["RETRY_TOPIC"] == swift_topic
    assert letter["properties"]["ORIGIN_MESSAGE_ID"] == sent["stuck"]["msgId"]


def test_what_cannot_be_given_back(swift: Endpoint, unique: Callable[[str], str]) -> None:
    """A message that is not there, any more or yet, and one whose retry topic takes nothing."""
    group = unique("group")
    for offset in (1 << 40, -1):
        answer = remoting.request(swift.broker, SEND_BACK, {"offset": offset, "group": group, "delayLevel": 0})
        assert (answer.code, answer.remark) == (1, f"look message by offset failed, {offset}")
    retry: dict[str, str | int] = {
        "topic": f"%RETRY%{group}",
        "defaultTopic": "TBW102",
        "readQueueNums": 1,
        "writeQueueNums": 1,
        "perm": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": "false",
    }
    assert remoting.request(swift.broker, CREATE_TOPIC, retry).code == 0
    answer = remoting.request(swift.broker, SEND_BACK, {"offset": 0, "group": group, "delayLevel": 0})
    assert (answer.code, answer.remark) == (16, f"the topic[%RETRY%{group}] sending message is forbidden")


def test_the_groups_configuration_counts(
    swift: Endpoint, swift_client: Client, swift_topic: str, unique: Callable[[str], str]
) -> None:
    """Its number of tries where a client sends none, and that it wants no retries."""
    group = unique("group")
    (sent,) = swift_client.only("sent", "SendSync", topic=swift_topic, message=[Outgoing(body="any")])
    fields: dict[str, str | int] = {"offset": int(sent["offsetMsgId"][16:], 16), "group": group, "delayLevel": 0}
    letters = 0
    for queues, most in ((1, 0), (0, 0), (1, 1)):
        config = {"groupName": group, "retryQueueNums": queues, "retryMaxTimes": most}
        answer = remoting.request(swift.broker, CREATE_GROUP, body=json.dumps(config).encode())
        assert answer.code == 0, answer
        assert remoting.request(swift.broker, SEND_BACK, fields).code == 0
        letters += queues > 0 and most == 0
        assert _dead_letters(swift.broker, group, least=letters) == letters


def test_broadcast_messages_are_not_tried_again(swift_client: Client, swift_topic: str, known_group: str) -> None:
    send(swift_client, swift_topic, [failing("once"), failing("also-once", level="-1")])
    received = swift_client.only(
        "received", "PushFailing", topic=swift_topic, group=known_group, mode="broadcast", count=2, settle=3_000
    )
    assert sorted(event["text"] for event in received) == ["also-once", "once"]


def _dead_letters(broker: str, group: str, *, least: int) -> int:
    """How many dead letters a group has once it has so many: Apache's broker fills its queues behind the log."""
    topic = f"%DLQ%{group}"
    wait_until(lambda: remoting.max_offset(broker, topic, 0) >= least)
    return remoting.max_offset(broker, topic, 0)
