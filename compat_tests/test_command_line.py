"""Commands on a running endpoint: groups whose subscriptions differ, traces of clients, exported messages.

Theory: the commands speak the protocol themselves, so their output is compared with what the official clients did;
against Apache's broker the same commands must print the same.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from compat_tests.commands import Ran, Rocketwire
from compat_tests.remoting import Connection
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Outgoing

VERSION: Final = "4.9.7"
TRACES_WITHIN: Final = 120.0
SETTLED_WITHIN: Final = 120.0
RETRY_MS: Final = 1000  # the first delay of a retry at the swift endpoint
QUERY_CONSUMER_OFFSET: Final = 14
GET_CONSUMER_CONNECTIONS: Final = 203
NOT_FOUND: Final = 22


def command(*arguments: object, namesrv: str) -> Ran:
    """`rocketwire` in a separate process."""
    return Rocketwire(namesrv)(*arguments)


@pytest.fixture
def official(clients: Clients, endpoint: Endpoint) -> Client:
    """One official client: its version does not matter."""
    return Client(clients=clients, id=f"java-{VERSION}", namesrv=endpoint.namesrv)


@pytest.fixture
def two_topics(official: Client, unique: Callable[[str], str]) -> tuple[str, str]:
    """Topics of the test's own."""
    names = unique("First"), unique("Second")
    for name in names:
        official.run("CreateTopic", topic=name, queues=4)
    return names


@pytest.fixture
def members(official: Client, group: str) -> Iterator[Callable[[Mapping[str, Sequence[tuple[str, str]]]], None]]:
    """Puts consumers of a group on line: by name the topics and expressions of each."""

    def join(wanted: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        queries = [
            urlencode([("name", name)] + [pair for t, e in topics for pair in (("topic", t), ("expression", e))])
            for name, topics in wanted.items()
        ]
        official.run("GroupMembers", group=group, member=queries)

    yield join
    official.run("GroupMembers", group=group)


def assert_newest_served(endpoint: Endpoint, group: str, topic: str) -> None:
    """What counts while members disagree is the newest; a client's gets newer when its share of the queues changes."""
    end = time.monotonic() + SETTLED_WITHIN
    while True:
        (found,) = command("group", "check", group, "--json", namesrv=endpoint.namesrv).objects
        own = [each for member in found["members"] for each in member["subscriptions"] if each["topic"] == topic]
        newest = max(own, key=lambda each: each["version"])
        with Connection(endpoint.broker) as broker:
            answer = broker.ask(GET_CONSUMER_CONNECTIONS, {"consumerGroup": group})
        served = json.loads(answer.body)["subscriptionTable"][topic]
        if (served["subString"], served["subVersion"]) == (newest["expression"], newest["version"]):
            return
        assert time.monotonic() < end, (served, own)


def test_a_group_s_members_are_compared(
    endpoint: Endpoint,
    group: str,
    two_topics: tuple[str, str],
    members: Callable[[Mapping[str, Sequence[tuple[str, str]]]], None],
) -> None:
    first, second = two_topics
    closed = command("group", "check", group, namesrv=endpoint.namesrv)
    assert (closed.code, closed.out) == (1, "")
    # Another test's group may be near.
    assert closed.err.startswith(f"rocketwire: group {group}: no consumer of that group is on line")

    members({"one": [(first, "A || B")], "two": [(first, "A || B")]})
    agreed = command("group", "check", group, "--json", namesrv=endpoint.namesrv)
    assert (agreed.code, agreed.err) == (0, "")
    (found,) = agreed.objects
    assert (found["agrees"], found["differences"]) == (True, [])
    assert [member["client_id"] for member in found["members"]] == ["127.0.0.1@one", "127.0.0.1@two"]
    assert {member["version"] for member in found["members"]} == {"V4_9_7"}
    for member in found["members"]:
        wanted = {each["topic"]: each["expression"] for each in member["subscriptions"]}
        assert wanted == {first: "A || B", f"%RETRY%{group}": "*"}

    members({"three": [(first, "B || A")]})
    written = command("group", "check", group, namesrv=endpoint.namesrv)
    assert (written.code, written.err) == (0, "")
    assert "yes, written differently" in written.out
    assert written.out.splitlines()[-1] == f"group {group}: 3 members, agree"

    members({"four": [(first, "A || C"), (second, "*")]})
    disagree = command("group", "check", "--json", namesrv=endpoint.namesrv)
    assert disagree.code == 1
    (found,) = [each for each in disagree.objects if each["group"] == group]
    assert not found["agrees"]
    sides = {
        each["topic"]: {
            side["subscription"] and side["subscription"]["expression"]: [
                client_id.partition("@")[2] for client_id in side["client_ids"]
            ]
            for side in each["sides"]
        }
        for each in found["differences"]
    }
    assert sides == {
        first: {"A || B": ["one", "two"], "A || C": ["four"], "B || A": ["three"]},
        second: {"*": ["four"], None: ["one", "three", "two"]},
    }
    assert_newest_served(endpoint, group, first)
    text = command("group", "check", group, namesrv=endpoint.namesrv)
    assert text.code == 1
    assert text.out.splitlines()[-1] == f"group {group}: 4 members, disagree on {first}, {second}"


def traced(message_id: str, namesrv: str, *, until: int) -> dict[str, Any]:
    """The output of `trace show` for a message, once it has so many events."""
    end = time.monotonic() + TRACES_WITHIN
    while True:
        ran = command("trace", "show", message_id, "--json", namesrv=namesrv)
        if ran.code == 0 and len(ran.objects[0]["events"]) >= until:
            return ran.objects[0]
        assert time.monotonic() < end, ran
        time.sleep(0.3)


def test_traces_of_official_clients(
    clients: Clients, swift: Endpoint, version: str, unique: Callable[[str], str], group: str
) -> None:
    client = Client(clients=clients, id=f"java-{version}", namesrv=swift.namesrv)
    topic, producers = unique("Traced"), unique("producers")
    for name in (topic, f"%RETRY%{group}"):  # that the consumer knows both from the start
        client.run("CreateTopic", topic=name, queues=1)
    messages = [Outgoing(body="at once", keys="k1", tags="Now"), Outgoing(body="again", keys="k2", tags="Later")]
    got = client.run("Traced", topic=topic, group=group, producerGroup=producers, message=messages)
    sent = events(got, "sent")
    received = {event["text"]: event for event in events(got, "received")}

    found = traced(sent[0]["msgId"], swift.namesrv, until=3)
    assert (found["topic"], found["tags"], found["keys"]) == (topic, "Now", "k1")
    send, store, *consumed = found["events"]
    assert (send["what"], send["group"], send["result"]) == ("send", producers, "success")
    assert (store["what"], store["time"]) == ("store", received["at once"]["storeTimestamp"])
    assert store["details"] == f"{topic}, broker broker-a, queue 0, offset 0"
    assert [(event["what"], event["group"], event["result"]) for event in consumed] == [("consume", group, "success")]
    times = [event["time"] for event in found["events"]]
    assert times == sorted(times)

    found = traced(sent[1]["msgId"], swift.namesrv, until=4)
    assert [event["what"] for event in found["events"]] == ["send", "store", "consume", "consume"]
    consumed = found["events"][2:]
    assert [(event["retries"], event["result"]) for event in consumed] == [(0, "failed"), (1, "success")]
    assert consumed[1]["time"] - consumed[0]["time"] >= RETRY_MS - 100
    assert traced(sent[1]["offsetMsgId"], swift.namesrv, until=2) == found
    text = command("trace", "show", sent[1]["msgId"], namesrv=swift.namesrv)
    lines = text.out.splitlines()
    assert lines[0] == f"message {sent[1]['msgId']}, topic {topic}, tag Later, keys k2"
    assert len(lines) == len(found["events"]) + 2
    assert lines[-1].endswith("success  retry 1")


def test_a_mistyped_topic_is_answered_with_the_nearest(endpoint: Endpoint, two_topics: tuple[str, str]) -> None:
    topic, _ = two_topics
    ran = command("message", "export", "--topic", topic.swapcase(), namesrv=endpoint.namesrv)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith(f" knows no such topic; did you mean {topic}?\n")


def test_messages_are_exported(official: Client, endpoint: Endpoint, two_topics: tuple[str, str], group: str) -> None:
    topic, empty = two_topics
    messages = [Outgoing(body=f"第 {i} 条", tags=f"T{i % 3}", keys=f"k{i} all", queue=i % 4) for i in range(200)]
    messages += [Outgoing(body="packed ", repeat=5_000, queue=1), Outgoing(body="noise", size=3_000, queue=1)]
    sent = events(official.run("SendBySelector", topic=topic, message=messages), "sent")

    ran = command("message", "export", "--topic", topic, namesrv=endpoint.namesrv)
    assert (ran.code, ran.err) == (0, "")
    exported = ran.objects
    assert [(one["queue_id"], one["queue_offset"]) for one in exported] == sorted(
        (event["queueId"], event["queueOffset"]) for event in sent
    )
    by_id = {one["message_id"]: one for one in exported}
    for message, event in zip(messages[:-1], sent, strict=False):
        one = by_id[event["msgId"]]
        assert (one["body"], one["tags"], one["offset_message_id"]) == (
            message.content.decode(),
            message.tags,
            event["offsetMsgId"],
        )
        assert one["broker"] == "broker-a"
    assert by_id[sent[-1]["msgId"]]["body"] is None

    rows = command("message", "export", "--topic", topic, "--format", "csv", "--queue", 2, namesrv=endpoint.namesrv)
    table = list(csv.DictReader(io.StringIO(rows.out, newline="")))
    second = [one for one in exported if one["queue_id"] == 2]
    assert [(row["message_id"], row["body"], row["keys"]) for row in table] == [
        (one["message_id"], one["body"], " ".join(one["keys"])) for one in second
    ]
    middle = second[25]["store_timestamp"]
    for option, expected in (
        (["--from", 10, "--to", 40], second[10:40]),
        (["--from", middle], [one for one in second if one["store_timestamp"] >= middle]),
        (["--to", middle], [one for one in second if one["store_timestamp"] < middle]),
        (["--from", 10_000], []),
        (["--from", "2000-01-01", "--to", "2000-01-02"], []),
    ):
        part = command("message", "export", "--topic", topic, "--queue", 2, *option, namesrv=endpoint.namesrv)
        assert (part.code, part.objects) == (0, expected)

    nothing = command("message", "export", "--topic", empty, namesrv=endpoint.namesrv)
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == f"rocketwire: 0 messages of {empty} exported\n"
    with Connection(endpoint.broker) as broker:
        for name in (group, "TOOLS_CONSUMER"):
            fields: dict[str, str | int] = {
                "consumerGroup": name,
                "topic": topic,
                "queueId": 2,
                "setZeroIfNotFound": "false",
            }
            # There is no offset: the broker answers 0 because the whole queue is in memory, or that it knows none.
            answer = broker.ask(QUERY_CONSUMER_OFFSET, fields)
            assert answer.code == NOT_FOUND or answer.fields["offset"] == "0"
