"""The official Go client v2.1.0 sends in each of its ways; its push and its pull consumer read; Java reads it too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests import remoting
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.environment import artifacts
from rocketwire.compat.messages import Event, Outgoing, assert_each_once

COUNT = 12
WAYS = ("sync", "async", "oneway")
SENT = [  # the Go client ends each key with the separator
    Outgoing(body=f"{how} 消息 {i}", tags="Go", keys=f"{how}-{i} ", properties={"属性": str(i)})
    for how in WAYS
    for i in range(COUNT)
]


@pytest.fixture(scope="module")
def program() -> Path:
    """The Go scenarios, built with the client's exact version."""
    return artifacts.go_program(Path(__file__).parent / "go" / "client.go")


def run_go(program: Path, *arguments: str) -> list[Event]:
    """What the program printed; its exit code must be 0."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_go_sends_and_everyone_reads(
    program: Path, endpoint: Endpoint, clients: Clients, unique: Callable[[str], str]
) -> None:
    topic = unique("Go")
    java = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    java.run("CreateTopic", topic=topic, queues=4)

    sent = events(run_go(program, "send", endpoint.namesrv, topic, str(COUNT)), "sent")
    assert [event["status"] for event in sent] == [0] * (2 * COUNT)

    read = java.run("PullAll", topic=topic, group="java_reads_go", count=len(SENT))
    by_java = events(read, "received")
    assert_each_once(by_java, SENT)
    places = {(event["queueId"], event["queueOffset"]): event for event in by_java}
    for event in sent:
        assert places[event["queueId"], event["queueOffset"]]["msgId"] == event["msgId"]

    pushed = events(run_go(program, "push", endpoint.namesrv, topic, unique("go"), str(len(SENT))), "received")
    assert_each_once(pushed, SENT)

    broker = sent[0]["broker"]
    pulled = []
    for queue in range(4):
        in_queue = events(run_go(program, "pull", endpoint.namesrv, topic, broker, str(queue)), "received")
        assert [event["queueOffset"] for event in in_queue] == list(range(len(in_queue)))
        pulled += in_queue
    assert_each_once(pulled, SENT)


def test_go_reads_what_java_sent(
    program: Path, endpoint: Endpoint, clients: Clients, unique: Callable[[str], str]
) -> None:
    topic, group = unique("ToGo"), unique("go")
    java = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    java.run("CreateTopic", topic=topic, queues=2)
    messages = [Outgoing(body=f"给 Go {i}", tags="Go" if i % 2 else "Java", keys=f"k{i}") for i in range(20)]
    messages.append(Outgoing(body="compressed ", repeat=2_000, tags="Go", keys="z"))
    java.run("SendSync", topic=topic, message=messages)
    wanted = [message for message in messages if message.tags == "Go"]
    received = events(run_go(program, "push", endpoint.namesrv, topic, group, str(len(wanted))), "received")
    assert_each_once(received, wanted)
    more = Outgoing(body="only this one is new", tags="Go", keys="k")
    java.run("SendSync", topic=topic, message=[more])
    assert_each_once(events(run_go(program, "push", endpoint.namesrv, topic, group, "1"), "received"), [more])


def test_what_go_fails_comes_again(
    program: Path, swift: Endpoint, swift_client: Client, unique: Callable[[str], str]
) -> None:
    """Twice at most, then it is a dead letter. One message: Go sends back all messages of a pull."""
    topic, group = unique("GoRetry"), unique("go")
    swift_client.run("CreateTopic", topic=topic, queues=1)
    # A consumer that finds the retry topic there need not look for it again after its start.
    swift_client.run("PushFailing", topic=topic, group=group, count=0, settle=0)
    message = Outgoing(body="fails", tags="Go", keys="k", properties={"fail": "9"})
    (sent,) = swift_client.only("sent", "SendSync", topic=topic, message=[message])
    received = events(run_go(program, "push", swift.namesrv, topic, group, "3"), "received")
    assert [event["reconsumeTimes"] for event in received] == [0, 1, 2]
    (letter,) = swift_client.only("received", "PullAll", topic=f"%DLQ%{group}", group=unique("reader"), count=1)
    assert (letter["text"], letter["reconsumeTimes"]) == ("fails", 3)
    assert letter["properties"]["ORIGIN_MESSAGE_ID"] == sent["offsetMsgId"]


def test_a_go_batch_is_refused(
    program: Path, endpoint: Endpoint, clients: Clients, unique: Callable[[str], str]
) -> None:
    """Go's v2.1.0 leaves the default topic's number of queues empty in batches; Apache's broker refuses that too."""
    topic = unique("GoBatch")
    java = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    java.run("CreateTopic", topic=topic, queues=1)
    done = subprocess.run(
        [program, "batch", endpoint.namesrv, topic, "3"], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 1
    assert '""' in done.stderr or "''" in done.stderr
    assert java.only("received", "PullAll", topic=topic, group=unique("g")) == []


def test_its_admin_client_deletes_a_topic(
    program: Path, endpoint: Endpoint, clients: Clients, unique: Callable[[str], str]
) -> None:
    """It does not look at the answers' codes, so the topic is looked for afterwards."""
    topic = unique("Doomed")
    Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv).run("CreateTopic", topic=topic, queues=1)
    assert remoting.broker_addresses(endpoint.namesrv, topic)
    assert events(run_go(program, "delete", endpoint.namesrv, topic, endpoint.broker), "deleted")
    assert not remoting.broker_addresses(endpoint.namesrv, topic)
    offset: dict[str, str | int] = {"topic": topic, "queueId": 0, "consumerGroup": "G", "queueOffset": 0}
    how = {"maxMsgNums": 1, "sysFlag": 4, "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0}
    assert remoting.request(endpoint.broker, 11, {**offset, **how, "subscription": "*"}).code == 17
