"""Clusters of both kinds of brokers under both kinds of name servers, each in a separate process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat_tests.proxied import OwnBroker, OwnNameServer
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.ports import free_rows
from rocketwire.compat.brokers.processes import READY_WITHIN
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.endpoint import Access
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.reader import read_topic
from rocketwire.remoting.admin.topics import put_topic
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NoBroker, NoSuchTopic
from rocketwire.wire.bodies.topic import TopicConfig

_FOLLOWED_WITHIN = 5.0
"""Seconds within which the routes must follow a broker that dies."""


class Servers:
    """Name servers A (ours) and B (Apache's), broker-a (ours) and broker-b (Apache's), each known to both."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        (first, port_a), (second, port_b) = free_rows(2)
        self.names = [f"127.0.0.1:{first}", f"127.0.0.1:{second}"]
        both = ";".join(self.names)
        self.ours = OwnBroker(folder / "a", namesrv=both, port=port_a, name="broker-a")
        self.theirs = ApacheBroker(folder / "b", namesrv=both, port=port_b, name="broker-b", registers=False)
        for each in (
            OwnNameServer(folder / "names-a", address=self.names[0]),
            ApacheNameServer(folder / "names-b", address=self.names[1]),
            self.ours,
            self.theirs,
        ):
            stack.callback(each.stop)
            each.start()
        self.brokers = [self.ours.broker, self.theirs.broker]
        for name_server in self.names:
            self.wait_for(name_server, {"broker-a", "broker-b"}, within=READY_WITHIN)

    def wait_for(self, name_server: str, brokers: set[str], *, within: float) -> None:
        """Wait until a name server knows these brokers and no others."""
        with BlockingCluster(name_server) as cluster:
            wait_until(lambda: brokers_of(cluster) == brokers, lambda: brokers_of(cluster), within=within)


def brokers_of(cluster: BlockingCluster) -> set[str]:
    """The brokers that its name server knows by now."""
    try:
        return set(cluster.all_brokers())
    except NoBroker:
        return set()


def queues_of(cluster: BlockingCluster, topic: str) -> set[tuple[str, int]]:
    """The queues of a topic that its name server knows by now."""
    try:
        return set(cluster.readable_queues(topic))
    except NoSuchTopic:
        return set()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path, stack)


def test_both_brokers_have_a_topic_by_either_name_server_until_it_is_killed_or_stops(
    servers: Servers, clients: Clients, unique: Callable[[str], str]
) -> None:
    topic = unique("Both")
    with BlockingCluster(servers.names[0]) as cluster:
        for broker in cluster.all_brokers().values():
            put_topic(broker, TopicConfig(topic_name=topic, read_queue_nums=2, write_queue_nums=2))
    wanted = {(broker, number) for broker in ("broker-a", "broker-b") for number in range(2)}
    for name_server in servers.names:
        with BlockingCluster(name_server) as cluster:
            wait_until(lambda: queues_of(cluster, topic) == wanted)
        java = Client(clients=clients, id="java-4.9.7", namesrv=name_server)
        message = [Outgoing(body=f"m{number}") for number in range(8)]
        assert len(events(java.run("SendSync", {"topic": topic, "message": message}), "sent")) == len(message)
    stored = read_topic(Access(namesrv=name_server), topic, 16, until=time.monotonic() + READY_WITHIN)
    assert {each["storeHost"].rpartition("/")[2] for each in stored} == set(servers.brokers)
    received = java.run("PushConcurrent", {"topic": topic, "group": unique("group"), "count": 16})
    assert sorted(each["text"] for each in events(received, "received")) == sorted([each.body for each in message] * 2)

    servers.ours.kill()
    for name_server in servers.names:
        servers.wait_for(name_server, {"broker-b"}, within=_FOLLOWED_WITHIN)
    servers.theirs.stop()  # it unregisters
    for name_server in servers.names:
        servers.wait_for(name_server, set(), within=_FOLLOWED_WITHIN)
