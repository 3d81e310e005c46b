"""The client library `rocketwire.remoting` against rocketwire and Apache's brokers, and beside Java's clients.

It is a client of the catalogue too (`python`), whose scenarios prove its delays, filters by SQL92 and dead letters.
`tests/remoting` proves that the front ends for asyncio and trio do the same.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from compat_tests import acl_cases
from compat_tests.endpoints import TARGETS, Rocketwire
from compat_tests.remoting import Connection
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.remoting import (
    Begin,
    Credentials,
    Message,
    Producer,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
)
from rocketwire.remoting.errors import AccessDenied, Refused
from rocketwire.wire.facts.codes import SerializeType

SWIFT: Final = {"messageDelayLevel": "1s 2s" + 16 * " 1s", "enablePropertyFilter": "true"}
Name = Callable[[str], str]


@pytest.fixture(scope="module", params=sorted(TARGETS))
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Each kind of endpoint; retries take seconds."""
    with running(TARGETS[request.param](tmp_path_factory.mktemp("cluster"), settings=SWIFT)) as started:
        yield started


@pytest.fixture
def java(clients: Clients, cluster: Endpoint) -> Client:
    """Java's client of 4.9.7."""
    return Client(clients=clients, id="java-4.9.7", namesrv=cluster.namesrv)


@pytest.fixture
def shared(java: Client, unique: Name) -> str:
    """A topic of six queues."""
    name = unique("Python")
    java.run("CreateTopic", topic=name, queues=6)
    return name


class Handled:
    """A handler that keeps what it gets."""

    def __init__(self) -> None:
        self.messages: list[ReceivedMessage] = []

    def __call__(self, message: ReceivedMessage) -> None:
        self.messages.append(message)

    @property
    def bodies(self) -> list[bytes]:
        return [each.body for each in self.messages]

    @property
    def queues(self) -> set[int]:
        return {each.queue.queue_id for each in self.messages}


def polled(consumer: PullConsumer, count: int) -> list[ReceivedMessage]:
    """So many messages."""
    found: list[ReceivedMessage] = []
    end = time.monotonic() + 60
    while len(found) < count and time.monotonic() < end:
        found += consumer.poll(5)
    return found


@pytest.mark.parametrize("serialize", SerializeType)
def test_messages_arrive_in_java_and_python(
    cluster: Endpoint, java: Client, shared: str, unique: Name, serialize: SerializeType
) -> None:
    with Producer("P", cluster.namesrv, serialize=serialize) as producer:
        one = producer.send(Message(shared, b"one", tags="a", keys=["k1", "k2"], properties={"colour": "blue"}))
        producer.send(Message(shared, b"large" * 2000))
        batch = producer.send_batch([Message(shared, b"batch-%d" % number) for number in range(3)])
        ordered = [producer.send(Message(shared, b"order-%d" % number, order_key="ORDER-7")) for number in range(5)]
        producer.send_oneway(Message(shared, b"one-way"))
    got = java.only("received", "PushConcurrent", topic=shared, group=unique("java"), count=11)
    assert sorted(event["text"] for event in got if event["length"] < 100) == sorted(
        ["one", "one-way", *(f"batch-{n}" for n in range(3)), *(f"order-{n}" for n in range(5))]
    )
    (event,) = (event for event in got if event["text"] == "one")
    assert (event["tags"], event["keys"], event["properties"]["colour"]) == ("a", "k1 k2", "blue")
    with PullConsumer(unique("pull"), cluster.namesrv, serialize=serialize) as consumer:
        consumer.assign(shared)
        found = polled(consumer, 11)
    by_body = {each.body: each for each in found}
    assert len(found) == len(by_body) == 11
    assert b"large" * 2000 in by_body
    assert (by_body[b"one"].message_id, by_body[b"one"].offset_message_id) == (one.message_id, one.offset_message_id)
    assert by_body[b"one"].queue == one.queue
    assert [by_body[b"batch-%d" % number].message_id for number in range(3)] == list(batch.message_ids)
    assert len({each.queue for each in ordered}) == 1
    in_order = [each.body for each in found if each.body.startswith(b"order")]
    assert in_order == [b"order-%d" % number for number in range(5)]


def test_pulling_seeks_filters_and_commits(cluster: Endpoint, java: Client, unique: Name) -> None:
    topic, group = unique("Pulled"), unique("pulling")
    java.run("CreateTopic", topic=topic, queues=1)
    with Producer("P", cluster.namesrv) as producer:
        (queue,) = producer.queues(topic)
        for number in range(10):
            if number == 5:
                time.sleep(1.1)
                middle = int(time.time() * 1000)
                time.sleep(1.1)
            tags = "even" if number % 2 == 0 else "odd"
            producer.send(Message(topic, b"%d" % number, tags=tags, properties={"number": str(number)}))
    with PullConsumer(group, cluster.namesrv, max_messages=4) as consumer:
        consumer.assign(topic)
        assert [each.body for each in polled(consumer, 10)] == [b"%d" % number for number in range(10)]
        assert (consumer.first_offset(queue), consumer.end_offset(queue)) == (0, 10)
        consumer.seek_to_time(queue, middle)
        assert consumer.positions() == {queue: 5}
        assert [each.body for each in consumer.poll()] == [b"5", b"6", b"7", b"8"]
        consumer.commit()
        assert consumer.committed(queue) == 9
        consumer.seek(queue, 3)
        assert consumer.poll()[0].body == b"3"
        consumer.seek_to_end(queue)
        assert consumer.poll(0.5) == []
        consumer.assign(topic, [queue], tags="even")
        consumer.seek_to_first(queue)
        assert [each.body for each in polled(consumer, 5)] == [b"0", b"2", b"4", b"6", b"8"]
        consumer.assign(topic, sql="number BETWEEN 2 AND 4")
        consumer.seek(queue, 0)
        assert [each.body for each in polled(consumer, 3)] == [b"2", b"3", b"4"]
        with pytest.raises(Refused):
            consumer.assign(topic, sql="number BETWEEN")
    with PullConsumer(group, cluster.namesrv) as consumer:
        consumer.assign(topic)
        assert [each.body for each in consumer.poll()] == [b"9"]


def test_members_in_both_languages_share_the_queues(cluster: Endpoint, java: Client, shared: str, unique: Name) -> None:
    group = unique("mixed")
    first, second = Handled(), Handled()

    def send(producer: Producer, text: str) -> None:
        for queue in producer.queues(shared):
            for number in range(5):
                producer.send(Message(shared, f"{text} {queue.queue_id} {number}".encode()), queue=queue)

    with (
        Producer("P", cluster.namesrv) as producer,
        PushConsumer(group, cluster.namesrv, begin=Begin.FIRST) as one,
        PushConsumer(group, cluster.namesrv, begin=Begin.FIRST) as two,
    ):
        one.subscribe(shared)
        one.start(first)
        send(producer, "alone")
        wait_until(lambda: len(first.messages) == 30)
        two.subscribe(shared)
        two.start(second)
        java.run("Join", name=unique("member"), topic=shared, group=group)
        try:
            settled(producer, shared, first, second, (2, 2), unique)
        finally:
            java.run("LeaveAll")
        settled(producer, shared, first, second, (3, 3), unique)
        two.close()
        settled(producer, shared, first, second, (6, 0), unique)


def settled(
    producer: Producer, topic: str, first: Handled, second: Handled, expected: tuple[int, int], unique: Name
) -> None:
    """Wait until the members have so many queues each, and nothing comes to both."""

    def shares() -> bool:
        first.messages.clear()
        second.messages.clear()
        text = unique("round").encode()
        for queue in producer.queues(topic):
            producer.send(Message(topic, text), queue=queue)
        end = time.monotonic() + 2
        while time.monotonic() < end:
            found = tuple(sum(each == text for each in handled.bodies) for handled in (first, second))
            if found == expected:
                return not first.queues & second.queues
            time.sleep(0.05)
        return False

    wait_until(shares)


def test_brokers_send_requests_to_members(cluster: Endpoint, java: Client, unique: Name) -> None:
    topic, group = unique("Asked"), unique("asked")
    java.run("CreateTopic", topic=topic, queues=1)
    handled = Handled()
    with (
        Producer("P", cluster.namesrv) as producer,
        PushConsumer(group, cluster.namesrv, begin=Begin.FIRST) as consumer,
        Connection(cluster.broker) as connection,
    ):
        consumer.subscribe(topic)
        consumer.start(handled)
        sent = [producer.send(Message(topic, b"%d" % number)) for number in range(5)]
        wait_until(lambda: len(handled.messages) == 5)
        members = json.loads(connection.ask(38, {"consumerGroup": group}).body)["consumerIdList"]
        assert len(members) == 1
        about = {"consumerGroup": group, "clientId": members[0]}
        connections = connection.ask(203, {"consumerGroup": group}).body.decode()
        assert members[0] in connections
        assert '"PYTHON"' in connections
        info = connection.ask(307, about)
        assert info.code == 0, info.remark
        assert b'"PROP_CONSUME_TYPE":"CONSUME_PASSIVELY"' in info.body
        status = connection.ask(223, {"topic": topic, "group": group})
        assert status.code == 0, status.remark
        assert b":5}" in status.body
        directly = connection.ask(
            309, {**about, "msgId": sent[2].offset_message_id, "brokerName": sent[2].queue.broker, "topic": topic}
        )
        assert directly.code == 0, directly.remark
        assert b'"CR_SUCCESS"' in directly.body
        assert handled.bodies[5:] == [b"2"]
        committed = {"consumerGroup": group, "topic": topic, "queueId": "0"}
        wait_until(lambda: connection.ask(14, committed).fields.get("offset") == "5")
        reset = connection.ask(222, {"topic": topic, "group": group, "timestamp": "0", "isForce": "true"})
        assert reset.code == 0, reset.remark
        wait_until(lambda: len(handled.messages) == 11)
        assert sorted(handled.bodies[6:]) == [b"0", b"1", b"2", b"3", b"4"]


def test_a_broker_restarts_while_a_group_consumes(cluster: Endpoint, shared: str, unique: Name) -> None:
    """No message is lost. A consumed one is redelivered only where the broker lost the offset."""
    handled = Handled()
    with (
        Producer("P", cluster.namesrv, retries=60) as producer,
        PushConsumer(unique("restart"), cluster.namesrv, begin=Begin.FIRST) as consumer,
    ):
        consumer.subscribe(shared)
        consumer.start(handled)
        sent = [b"before %d" % number for number in range(20)]
        for body in sent:
            producer.send(Message(shared, body))
        wait_until(lambda: len(handled.messages) == 20)
        cluster.restart()
        after = [b"after %d" % number for number in range(20)]
        for body in after:
            producer.send(Message(shared, body))
        wait_until(lambda: set(handled.bodies) == {*sent, *after})
    assert all(count == 1 for body, count in Counter(handled.bodies).items() if body in sent)


@pytest.fixture(scope="module", params=["apache-4.9.7", "rocketwire"])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name server of an endpoint with accounts; 5.5.0 has no such file any more."""
    folder = tmp_path_factory.mktemp("guarded")
    conf = folder / "home" / "conf"
    conf.mkdir(parents=True)
    file = conf / "plain_acl.yml"
    file.write_text(acl_cases.ACCOUNTS.read_text())
    if request.param == "rocketwire":
        with running(Rocketwire(folder, options=("--acl", str(file)))) as started:
            yield started.namesrv
        return
    name_server, broker = free_ports()
    address = f"{LOOPBACK}:{name_server}"
    with (
        running(ApacheNameServer(folder, address=address)),
        running(ApacheBroker(folder, namesrv=address, port=broker, settings={"aclEnable": "true"})),
    ):
        yield address


def test_accounts(guarded: str, unique: Name) -> None:
    account = Credentials(access_key="admin-key-1", secret_key=acl_cases.SECRETS["admin-key-1"])
    topic = unique("Guarded")
    handled = Handled()
    with (
        Producer("P", guarded, credentials=account) as producer,
        PushConsumer(unique("guarded"), guarded, credentials=account, begin=Begin.FIRST) as consumer,
    ):
        producer.send(Message(topic, b"signed"))
        consumer.subscribe(topic)
        consumer.start(handled)
        wait_until(lambda: handled.bodies == [b"signed"])
    wrong = Credentials(access_key="admin-key-1", secret_key="wrong")
    for credentials in (wrong, None):
        with Producer("P", guarded, credentials=credentials, retries=0) as producer, pytest.raises(AccessDenied):
            producer.send(Message(topic, b"refused"))
