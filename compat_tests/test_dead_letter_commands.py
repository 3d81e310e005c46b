"""`dlq`, `message resend` and `top` against this broker and Apache's, with consumers of the official client.

Theory: dead letters are made by a consumer that fails, and what is sent again is what a consumer gets.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest

from compat_tests.commands import Rocketwire, eventually
from compat_tests.endpoints import TARGETS
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing

VERSION: Final = "4.9.7"


@pytest.fixture(scope="module", params=sorted(TARGETS))
def rocketwire(request: pytest.FixtureRequest) -> Iterator[Rocketwire]:
    """The commands at each broker in turn."""
    with (
        tempfile.TemporaryDirectory(prefix="compat-") as folder,
        running(TARGETS[request.param](Path(folder))) as started,
    ):
        yield Rocketwire(started, request.param)


@pytest.fixture
def official(clients: Clients, rocketwire: Rocketwire) -> Client:
    """An official client at the same broker."""
    return Client(clients=clients, id=f"java-{VERSION}", namesrv=rocketwire.endpoint.namesrv)


@pytest.fixture
def own_topic(official: Client, unique: Callable[[str], str]) -> str:
    """A topic of four queues of the test's own."""
    name = unique("Message")
    official.run("CreateTopic", topic=name, queues=4)
    return name


def test_dead_letters_of_a_consumer(rocketwire: Rocketwire, official: Client, own_topic: str, group: str) -> None:
    official.run("PushFailing", topic=own_topic, group=group, count=0, settle=0)  # so that the group is known
    bodies = ["lost", "missed", "gone"]
    messages = [
        Outgoing(body=body, tags="R", keys=f"key-{body}", properties={"fail": "99", "level": "-1", "own": body})
        for body in bodies
    ]
    sent = {
        m.body: e
        for m, e in zip(messages, official.only("sent", "SendSync", topic=own_topic, message=messages), strict=True)
    }
    official.run("PushFailing", topic=own_topic, group=group, count=3, settle=1_500)
    listed = eventually(
        lambda: rocketwire("dlq", "list", "--json"),
        lambda ran: any(each["group"] == group and each["messages"] == 3 for each in ran.objects),
    )
    (found,) = [each for each in listed.objects if each["group"] == group]
    assert (found["topic"], found["not_resent"]) == (f"%DLQ%{group}", 3)
    shown = rocketwire("dlq", "show", group, "--json").objects
    assert {(one["body"], one["origin_topic"], one["message_id"]) for one in shown} == {
        (body, own_topic, sent[body]["msgId"]) for body in bodies
    }
    assert rocketwire("dlq", "resend", group, "--all").code == 2

    # To the topic: the group gets them like others, and the consumer does not fail any more.
    ran = rocketwire("dlq", "resend", group, "--all", "--limit", 2, "--yes", "--json")
    assert (ran.code, ran.err, len(ran.objects)) == (0, "", 2)
    again = official.only("received", "PushConcurrent", topic=own_topic, group=group, count=2)
    assert {event["msgId"] for event in again} == {one["message_id"] for one in ran.objects}
    for event in again:
        assert (event["topic"], event["reconsumeTimes"], event["tags"]) == (own_topic, 0, "R")
        assert event["properties"]["ORIGIN_MESSAGE_ID"] == sent[event["text"]]["offsetMsgId"]
        assert event["properties"]["own"] == event["text"]

    # To the retry topic: the consumer sees them as messages of their topic.
    ran = rocketwire("dlq", "resend", group, "--all", "--to", "retry", "--yes", "--json")
    assert (ran.code, ran.err, [one["topic"] for one in ran.objects]) == (0, "", [f"%RETRY%{group}"])
    (event,) = official.only("received", "PushConcurrent", topic=own_topic, group=group, count=1)
    assert (event["topic"], event["msgId"]) == (own_topic, ran.objects[0]["message_id"])
    assert rocketwire("dlq", "resend", group, "--all", "--yes").code == 1
    (found,) = [each for each in rocketwire("dlq", "list", "--json").objects if each["group"] == group]
    assert (found["messages"], found["not_resent"]) == (3, 0)


def test_resend(
    rocketwire: Rocketwire, official: Client, own_topic: str, unique: Callable[[str], str], group: str
) -> None:
    other = unique("Other")
    official.run("CreateTopic", topic=other, queues=1)
    (sent,) = official.only("sent", "SendSync", topic=own_topic, message=[Outgoing(body="again", tags="t", keys="k")])
    ran = rocketwire("message", "resend", sent["offsetMsgId"], "--to-topic", other, "--json")
    assert (ran.code, ran.objects[0]["message_id"]) == (0, sent["msgId"])
    (copy,) = rocketwire("message", "export", "--topic", other).objects
    assert (copy["body"], copy["tags"], copy["keys"], copy["message_id"]) == ("again", "t", ["k"], sent["msgId"])

    # The consumer subscribes to a topic without messages: what it gets comes from the command.
    empty = unique("Empty")
    official.run("CreateTopic", topic=empty, queues=1)
    member = urlencode([("name", "one"), ("topic", empty), ("expression", "*")])
    assert rocketwire("message", "resend", sent["offsetMsgId"], "--to-group", group).code == 1
    official.run("GroupMembers", group=group, member=[member])
    ran = eventually(lambda: rocketwire("message", "resend", sent["offsetMsgId"], "--to-group", group, "--json"))
    got = official.only("received", "GroupMembers", group=group)
    assert ran.objects[0]["result"] == "CR_SUCCESS"
    assert ran.objects[0]["client_id"].endswith("@one")
    assert [event["text"] for event in got] == ["again"]


def test_top(rocketwire: Rocketwire, official: Client, own_topic: str, group: str) -> None:
    rocketwire("message", "send", own_topic, *map(str, range(20)), "--quiet")
    official.run("PushConcurrent", topic=own_topic, group=group, count=20)
    rocketwire("message", "send", own_topic, *map(str, range(8)), "--quiet")
    ran = eventually(
        lambda: rocketwire("top", "--json", "--interval", "0.5"),
        # A broker that has just started has no rates yet.
        lambda ran: (
            any(each["group"] == group and each["lag"] == 8 for each in ran.objects[0]["groups"])
            and ran.objects[0]["brokers"][0]["put_tps"] is not None
        ),
    )
    (found,) = ran.objects
    (broker,) = found["brokers"]
    assert (broker["broker"], broker["problem"]) == ("broker-a", None)
    (topic,) = [each for each in found["topics"] if each["topic"] == own_topic]
    assert (topic["messages"], topic["queues"], topic["groups"]) == (28, 4, 1)
    (of_group,) = [each for each in found["groups"] if each["group"] == group]
    assert own_topic in of_group["topics"]
    own = [each for each in of_group["queues"] if each["topic"] == own_topic]
    assert sum(each["end"] for each in own) == 28
    assert sum(each["offset"] for each in own) == 20
    names = [each["topic"] for each in found["topics"]]
    assert not [name for name in names if name.startswith(("%", "rmq_sys_", "RMQ_SYS_"))]
    assert not {"TBW102", "broker-a", "DefaultCluster", "SCHEDULE_TOPIC_XXXX"} & set(names)
    table = rocketwire("top", "--interval", "0.5")
    assert (table.code, table.err) == (0, "")
    assert own_topic in table.out
