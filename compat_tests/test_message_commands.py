"""`message`, `dlq` and `top` against this broker and Apache's of 4.9.7 and 5.5.0, with official clients beside them.

Theory: the commands speak the protocol themselves. So what they send is received by the official client, what they show
is compared with what it sent, and the same test runs against each broker, whatever `--target` is.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest

from compat_tests.commands import Rocketwire, eventually
from compat_tests.endpoints import TARGETS
from rocketwire.compat.brokers.apache import ApacheBroker
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import free_ports
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Outgoing

VERSION: Final = "4.9.7"
SETTINGS: Final = {
    "messageDelayLevel": "1s 2s" + 15 * " 1s" + " 3s",
    "enablePropertyFilter": "true",
}


@pytest.fixture(scope="module", params=sorted(TARGETS))
def rocketwire(request: pytest.FixtureRequest) -> Iterator[Rocketwire]:
    """The commands at each broker."""
    with (
        tempfile.TemporaryDirectory(prefix="compat-") as folder,
        running(TARGETS[request.param](Path(folder), settings=SETTINGS)) as started,
    ):
        yield Rocketwire(started.namesrv, request.param)


@pytest.fixture
def official(clients: Clients, rocketwire: Rocketwire) -> Client:
    """An official client at the same broker."""
    return Client(clients=clients, id=f"java-{VERSION}", namesrv=rocketwire.namesrv)


@pytest.fixture
def own_topic(official: Client, unique: Callable[[str], str]) -> str:
    """A topic of four queues of the test's own."""
    name = unique("Message")
    official.run("CreateTopic", topic=name, queues=4)
    return name


def test_what_is_sent_is_received(rocketwire: Rocketwire, official: Client, own_topic: str, group: str) -> None:
    lines = "".join(f"line {n}\n" for n in range(500)).encode()
    ran = rocketwire(
        "message", "send", own_topic, "--json", "--input", "lines", "--tag", "a", "--key", "k", given=lines
    )
    assert (ran.code, ran.err, len(ran.objects)) == (0, "", 500)
    batched = rocketwire(
        *("message", "send", own_topic, "--batch", 50, "--order-key", "x", "--json", "--input", "lines", "--tag", "b"),
        *("--key", "one", "--key", "two", "--property", "own=1"),
        given=lines,
    )
    assert (batched.code, batched.err, len(batched.objects)) == (0, "", 500)
    received = official.only("received", "PushConcurrent", topic=own_topic, group=group, count=1000)
    by_id = {event["msgId"]: event for event in received}
    for one in ran.objects:
        event = by_id[one["message_id"]]
        assert (event["queueId"], event["queueOffset"]) == (one["queue_id"], one["queue_offset"])
        assert (event["tags"], event["keys"]) == ("a", "k")
    for number, one in enumerate(batched.objects):
        event = by_id[one["message_id"]]
        assert (event["text"], event["tags"], event["keys"]) == (f"line {number}", "b", "one two")
        assert (event["queueId"], event["queueOffset"]) == (one["queue_id"], one["queue_offset"])
        assert event["properties"]["own"] == "1"
    assert len({one["queue_id"] for one in batched.objects}) == 1
    exported = {one["message_id"]: one for one in rocketwire("message", "export", "--topic", own_topic).objects}
    for one in (*ran.objects, *batched.objects):
        assert exported[one["message_id"]]["offset_message_id"] == one["offset_message_id"]
    assert Counter(event["text"] for event in received) == dict.fromkeys((f"line {n}" for n in range(500)), 2)


def test_what_was_sent_is_shown(rocketwire: Rocketwire, official: Client, own_topic: str) -> None:
    messages = [
        Outgoing(body=f"body {n}", tags=("Aa", "BB")[n % 2], keys=f"k{n} all", queue=n % 4, properties={"n": str(n)})
        for n in range(80)
    ]
    sent = events(official.run("SendBySelector", topic=own_topic, message=messages), "sent")

    def bodies(*arguments: object) -> list[int]:
        ran = rocketwire("message", "tail", own_topic, "--body", *arguments)
        assert (ran.code, ran.err) == (0, "")
        return [int(line.removeprefix("body ")) for line in ran.out.splitlines()]

    assert sorted(bodies("--from", "earliest")) == list(range(80))
    assert len(bodies()) == 10
    assert bodies("-n", 2, "--queue", 3) == [75, 79]
    assert sorted(bodies("--from", "earliest", "--tag", "Aa")) == list(range(0, 80, 2))
    assert sorted(bodies("--from", 18)) == list(range(72, 80))
    assert sorted(bodies("--from", "earliest", "--sql", "n > 75")) == [76, 77, 78, 79]
    assert bodies("--key", "k33", "--from", "earliest") == [33]
    one = rocketwire("message", "tail", own_topic, "-n", 1, "--queue", 2, "--json").objects[0]
    assert one["message_id"] == sent[78]["msgId"]

    found = eventually(lambda: rocketwire("message", "get", sent[5]["msgId"], "--topic", own_topic, "--json"))
    assert found.objects == rocketwire("message", "get", sent[5]["offsetMsgId"], "--json").objects
    assert found.objects[0]["body"] == "body 5"
    everything = eventually(
        lambda: rocketwire("message", "query", own_topic, "--key", "all", "--limit", 200, "--json"),
        lambda ran: len(ran.objects) >= 64,
    )
    assert {each["body"] for each in everything.objects} <= {message.body for message in messages}
    assert rocketwire("message", "query", own_topic, "--id", sent[7]["msgId"]).code == 0
    assert rocketwire("message", "query", own_topic, "--key", "all", "--to", "2001-01-01").code == 1


def test_offsets_of_a_group_only_on_request(
    rocketwire: Rocketwire, official: Client, own_topic: str, group: str
) -> None:
    rocketwire("message", "send", own_topic, *map(str, range(6)), "--queue", 0, "--quiet")
    ran = rocketwire("message", "tail", own_topic, "--group", group, "--from", "earliest", "--count", 4, "--body")
    assert (ran.code, ran.out.split()) == (0, ["0", "1", "2", "3"])
    assert rocketwire("message", "tail", own_topic, "--from", "earliest").code == 0
    received = official.only("received", "PushConcurrent", topic=own_topic, group=group, count=2, settle=1000)
    assert sorted(event["text"] for event in received) == ["4", "5"]


def test_a_topic_is_followed(rocketwire: Rocketwire, official: Client, unique: Callable[[str], str]) -> None:
    topic = unique("Followed")
    official.run("CreateTopic", topic=topic, queues=1)
    rocketwire("message", "send", topic, "before", "--quiet")
    with rocketwire.started("message", "tail", topic, "-f", "-n", 1, "--body") as tail:
        assert tail.line() == "before"
        for number in range(3):
            began = time.monotonic()
            official.run("SendSync", topic=topic, message=[Outgoing(body=f"new {number}")])
            assert tail.line() == f"new {number}"
            assert time.monotonic() - began < 4  # it is sent at once: the broker itself checks every 5 s only
        official.run("CreateTopic", topic=topic, queues=2)
        # 5.x registers it at the name server at once, others too; the official client sends to queue 1 then.
        eventually(lambda: rocketwire("message", "send", topic, "elsewhere", "--queue", 1, "--quiet"))
        assert tail.line() == "elsewhere"
        assert tail.error().endswith("queue 1 is new")
        assert tail.ctrl_c() == 130


@pytest.mark.parametrize("kind", ["rocketwire", "apache-4.9.7"])
def test_following_survives_a_restart(kind: str, clients: Clients, tmp_path: Path) -> None:
    with running(TARGETS[kind](tmp_path / "endpoint")) as endpoint:
        rocketwire = Rocketwire(endpoint.namesrv, kind)
        client = Client(clients=clients, id=f"java-{VERSION}", namesrv=endpoint.namesrv)
        client.run("CreateTopic", topic="Restarted", queues=2)
        rocketwire("message", "send", "Restarted", "before", "--quiet")
        with rocketwire.started("message", "tail", "Restarted", "-f", "-n", 1, "--body") as tail:
            assert tail.line() == "before"
            endpoint.restart()
            assert tail.error().endswith("; trying again until broker-a is back")
            numbers = [str(number) for number in range(10)]
            eventually(lambda: rocketwire("message", "send", "Restarted", *numbers, "--quiet"))
            assert sorted(tail.line() for _ in numbers) == numbers
            assert tail.error() == "rocketwire: broker broker-a is back"
            assert tail.ctrl_c() == 130


def test_another_broker_is_noticed(clients: Clients, tmp_path: Path) -> None:
    """A broker that joins the cluster later, Apache's beside this one."""
    with running(TARGETS["rocketwire"](tmp_path / "one")) as endpoint:
        rocketwire = Rocketwire(endpoint.namesrv)
        client = Client(clients=clients, id=f"java-{VERSION}", namesrv=endpoint.namesrv)
        client.run("CreateTopic", topic="Grown", queues=1)
        with rocketwire.started("message", "tail", "Grown", "-f", "--json") as tail:
            other = ApacheBroker(tmp_path / "two", namesrv=endpoint.namesrv, port=free_ports()[1], name="broker-b")
            with running(other):
                client.run("CreateTopic", topic="Grown", queues=1)
                numbers = [str(number) for number in range(10)]
                ran = eventually(
                    lambda: rocketwire("message", "send", "Grown", *numbers, "--json"),
                    lambda ran: {one["broker"] for one in ran.objects} == {"broker-a", "broker-b"},
                )
                wanted = {one["offset_message_id"] for one in ran.objects}
                assert tail.error().endswith("Grown, broker broker-b: queue 0 is new")
                while wanted:
                    wanted.discard(json.loads(tail.line())["offset_message_id"])
                found = rocketwire("top", "--json", "--interval", "0.5").objects[0]
                assert [each["broker"] for each in found["brokers"]] == ["broker-a", "broker-b"]
                lines = rocketwire("message", "tail", "Grown", "-n", 10).out
                assert "  broker-b:0/" in lines
                assert tail.ctrl_c() == 130


def test_delays_and_times(rocketwire: Rocketwire, own_topic: str) -> None:
    sent = int(time.time() * 1000)
    assert rocketwire("message", "send", own_topic, "level", "--delay", 2, "--quiet").code == 0
    assert rocketwire("message", "send", own_topic, "duration", "--delay", "3s", "--quiet").code == 0
    at = sent + 4000
    ran = rocketwire("message", "send", own_topic, "time", "--at", at, "--quiet")
    wanted = {"level": 2000, "duration": 3000}
    if rocketwire.kind == "apache-4.9.7":
        assert ran.code == 1
        assert ran.err == "rocketwire: --at: broker broker-a has no timer, and would deliver the message at once\n"
        assert rocketwire("message", "send", own_topic, "x", "--delay", "90s").code == 1
    else:
        assert (ran.code, ran.err) == (0, "")
        wanted["time"] = 4000
    found = eventually(
        lambda: rocketwire("message", "export", "--topic", own_topic), lambda ran: len(ran.objects) == len(wanted)
    )
    for one in found.objects:
        assert one["store_timestamp"] - sent >= wanted[one["body"]] - 1100  # 5.x rounds down to its slot


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_export_and_import(
    form: str, rocketwire: Rocketwire, official: Client, own_topic: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    copy = unique("Copy")
    official.run("CreateTopic", topic=copy, queues=4)
    messages = [Outgoing(body=f"第 {n} 条", tags=f"T{n}", keys=f"k{n} all", queue=n % 4, flag=n) for n in range(40)]
    messages += [Outgoing(body="packed ", repeat=5_000, queue=1), Outgoing(body="noise", size=3_000, queue=1)]
    official.run("SendBySelector", topic=own_topic, message=messages)
    file = tmp_path / "messages"
    assert rocketwire("message", "export", "--topic", own_topic, "--format", form, "--output", file).code == 0
    ran = rocketwire("message", "import", file, "--topic", copy, "--format", form, "--json")
    assert (ran.code, ran.err, len(ran.objects)) == (0, "", 42)
    names = ("message_id", "queue_id", "tags", "keys", "body", "body_base64", "flag")

    def kept(topic: str) -> list[str]:
        objects = rocketwire("message", "export", "--topic", topic).objects
        return [json.dumps([one.get(name) for name in names]) for one in objects]

    assert kept(copy) == kept(own_topic)
    if form == "jsonl":
        again = rocketwire("message", "send", copy, "--json", given=file.read_bytes())
        assert (again.code, len(again.objects)) == (0, 42)
        twice = Counter(json.loads(one)[0] for one in kept(copy))
        assert twice == dict.fromkeys((json.loads(one)[0] for one in kept(own_topic)), 2)


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
