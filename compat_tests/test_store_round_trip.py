"""A directory that Apache's broker wrote is served and continued by rocketwire, and the other way round.

Theory: both brokers open one directory in turn. Each is asked for everything that it serves, by offset, key, id and
time (store_view), and what one served the other must serve with the same bytes. Apache's broker must find nothing to
complain of, and whoever only opens and closes a store must leave its log and its queues as they were.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.apache import ApacheBroker, ApacheNameServer
from compat_tests.clients import Client, Clients
from compat_tests.endpoints import Rocketwire
from compat_tests.messages import Outgoing, assert_each_once
from compat_tests.ports import LOOPBACK, free_ports
from compat_tests.remoting import Connection
from compat_tests.shared_store import QUEUE_FILE, SharedStore
from compat_tests.store_traffic import Load, Sent, assert_there, commit, create_topic, send_all_kinds, send_delayed
from compat_tests.store_view import Queue, View, assert_whole, committed, look, topic_configs

LARGE: Final = "Large"  # a topic of several consume queue files
SMALL: Final = "Small"  # a topic whose queues stay in their first file
OFFICIAL: Final = "Official"  # written and consumed by the official client
QUEUES: Final = 3
SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
LOG: Final = ("commitlog", "consumequeue")

MESSAGES: Final = (
    Outgoing(body="plain", tags="TagA", keys="k1 k2"),
    Outgoing(body="汉字 und Umlaute äöü", tags="标签", keys="订单 k2", properties={"属性": "值"}),
    Outgoing(body="x", flag=7),
    Outgoing(body="compresses well ", repeat=4000, keys="big"),
    Outgoing(body="noise", size=90_000, keys="noise"),
    Outgoing(body="many", properties={f"p{i}": str(i) * i for i in range(1, 30)}),
)


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheNameServer]:
    """The name server that Apache's brokers register with."""
    server = ApacheNameServer(tmp_path_factory.mktemp("namesrv"), address=f"{LOOPBACK}:{free_ports()[0]}")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def store(tmp_path: Path, name_server: ApacheNameServer) -> SharedStore:
    """A new store."""
    return SharedStore(tmp_path, name_server)


class Official:
    """The official client at whichever broker runs; it knows what the group has consumed so far."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._round = itertools.count()

    def send_and_consume(self, broker: ApacheBroker | Rocketwire) -> None:
        """Messages of a new round come once to a group that has consumed all former ones, and none of those again."""
        client = Client(clients=self._clients, version="4.9.7", namesrv=broker.namesrv)
        number = next(self._round)
        if not number:
            client.run("CreateTopic", topic=OFFICIAL, queues=QUEUES)
        messages = [replace(message, body=f"{number} {message.body}") for message in MESSAGES]
        batch = [Outgoing(body=f"batch {number} {i}") for i in range(5)]
        client.run("SendSync", topic=OFFICIAL, message=messages)
        client.run("SendBatch", topic=OFFICIAL, message=batch)
        every = [*messages, *batch]
        received = client.only("received", "PushConcurrent", topic=OFFICIAL, group="official", count=len(every))
        assert_each_once(received, every)


def send(broker: str, name: str, *, count: int = 360) -> list[Sent]:
    """Messages of every kind to both topics."""
    with Connection(broker) as connection:
        return [
            *send_all_kinds(connection, LARGE, f"{name}-large", queues=QUEUES, count=count),
            *send_all_kinds(connection, SMALL, f"{name}-small", queues=QUEUES, count=30),
        ]


def small_times(view: View) -> dict[tuple[Queue, int], int]:
    """What was found by time in the queues of one file, where Apache is right as well."""
    return {(queue, at): offset for (queue, at), offset in view.by_time.items() if queue[0] == SMALL}


def assert_kept(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """All entries of a table of config/ are as they were."""
    changed = {name: (entry, after.get(name)) for name, entry in before.items() if after.get(name) != entry}
    assert not changed


def wait_for(broker: str, unique_key: str) -> None:
    """Return once the delayed message has come to its topic."""
    end = time.monotonic() + 15
    while not deliveries(look(broker), unique_key):
        assert time.monotonic() < end, f"{unique_key!r} was not delivered"
        time.sleep(0.2)


def deliveries(view: View, unique_key: str) -> int:
    """How often a delayed message is in its topic."""
    return sum(message.unique_key == unique_key and message.topic != SCHEDULE for message in view)


def look_at(broker: ApacheBroker | Rocketwire, sent: list[Sent]) -> View:
    """What the broker serves; it is whole, and all that was sent is there."""
    view = look(broker.broker)
    assert_whole(view, times_up_to=QUEUE_FILE if isinstance(broker, ApacheBroker) else None)
    assert_there(view, sent)
    return view


def test_apache_writes_rocketwire_goes_on_apache_serves_both(store: SharedStore, clients: Clients) -> None:
    official = Official(clients)
    with store.apache() as apache:
        with Connection(apache.broker) as connection:
            create_topic(connection, LARGE, QUEUES)
            create_topic(connection, SMALL, QUEUES)
            commit(connection, "raw", LARGE, {0: 11, 2: 13})
            delivered = send_delayed(connection, SMALL, "delivered", level=1)
        official.send_and_consume(apache)
        sent = send(apache.broker, "first")
        with Connection(apache.broker) as connection:
            due = send_delayed(connection, SMALL, "due while rocketwire runs", level=2)
            pending = send_delayed(connection, SMALL, "pending", level=18)
        first = look_at(apache, sent)
        topics = topic_configs(apache.broker)
    files, groups, delays = store.digests(*LOG), store.config("subscriptionGroup.json"), store.config("delayOffset.json")

    with store.rocketwire() as rocketwire:
        served = look_at(rocketwire, sent)
        assert served.same_but_times(first)
        assert small_times(served) == small_times(first)
        assert committed(rocketwire.broker, "raw", LARGE, range(QUEUES)) == [11, None, 13]
        assert_kept(topics, topic_configs(rocketwire.broker))
    assert store.digests(*LOG) == files

    with store.rocketwire() as rocketwire:
        official.send_and_consume(rocketwire)
        sent += send(rocketwire.broker, "second")
        with Connection(rocketwire.broker) as connection:
            commit(connection, "raw", LARGE, {0: 111, 1: 112})
            create_topic(connection, "MadeByRocketwire", 5)
        second = look_at(rocketwire, sent)
        assert second.starts_with(first)
        topics = topic_configs(rocketwire.broker)
    files = store.digests(*LOG)
    assert_kept(groups["subscriptionGroupTable"], store.config("subscriptionGroup.json")["subscriptionGroupTable"])
    assert store.config("delayOffset.json") == delays

    with store.apache() as apache:
        wait_for(apache.broker, due)
        third = look_at(apache, sent)
        assert third.starts_with(second)
        assert [deliveries(third, key) for key in (delivered, due, pending)] == [1, 1, 0]
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [111, 112, 13]
        assert_kept(topics, topic_configs(apache.broker))
        official.send_and_consume(apache)
