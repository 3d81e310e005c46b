"""A directory that Apache's broker wrote is served and continued by rocketwire, and the other way round.

Theory: both brokers open one directory in turn. Each is asked for everything that it serves, by offset, key, id and
time (store_view), and what one served the other must serve with the same bytes. Apache's broker must find nothing to
complain of, and whoever only opens and closes a store must leave its log and its queues as they were.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping
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
from compat_tests.shared_store import LOG_FILE, QUEUE_FILE, SharedStore
from compat_tests.store_traffic import (
    SCHEDULE,
    Load,
    Sent,
    assert_there,
    commit,
    create_topic,
    send_all_kinds,
    send_delayed,
)
from compat_tests.store_view import Queue, View, assert_same, assert_whole, committed, look, pull, topic_configs

LARGE: Final = "Large"  # a topic of several consume queue files
SMALL: Final = "Small"  # a topic whose queues stay in their first file
OFFICIAL: Final = "Official"  # written and consumed by the official client
QUEUES: Final = 3
LOG: Final = ("commitlog", "consumequeue")
OWN_OF_5: Final = ("timerlog", "timerwheel", "config/timercheck", "rocksdbstore")

RECOVERED_FROM: Final = re.compile("recover from this mapped file store/commitlog/([0-9]{20})")

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


def begin(broker: ApacheBroker | Rocketwire) -> list[Sent]:
    """The topics, some messages of every kind in them, and some offsets of the group "raw"."""
    with Connection(broker.broker) as connection:
        create_topic(connection, LARGE, QUEUES)
        create_topic(connection, SMALL, QUEUES)
        sent = send(broker.broker, "first")
        pull(connection, (LARGE, 0), group="raw")  # a first request of a group makes it
        commit(connection, "raw", LARGE, {0: 11, 1: 12, 2: 13})
    return sent


def kill_under_load(broker: ApacheBroker | Rocketwire, name: str) -> list[Sent]:
    """What a broker acknowledged until it was killed."""
    load = Load(broker.broker, LARGE, name, queues=QUEUES)
    load.wait_for(400)
    broker.kill()
    return load.join()


def small_times(view: View) -> dict[tuple[Queue, int], int]:
    """What was found by time in the queues of one file, where Apache is right as well."""
    return {(queue, at): offset for (queue, at), offset in view.by_time.items() if queue[0] == SMALL}


def assert_kept(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """All entries of a table of config/ are there with what they said; 5.x adds fields of its own."""
    changed = {name: (entry, after.get(name)) for name, entry in before.items() if not kept(entry, after.get(name))}
    assert not changed


def kept(entry: Mapping[str, Any], after: Mapping[str, Any] | None) -> bool:
    """Whether all fields of an entry are as they were."""
    return after is not None and {**after, **entry} == after


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once it is so."""
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end, "not within 20 s"
        time.sleep(0.1)


def deliveries(view: View, unique_key: str) -> int:
    """How often a delayed message is in its topic."""
    return sum(message.unique_key == unique_key and message.topic != SCHEDULE for message in view)


def recovered_from(apache: ApacheBroker) -> int:
    """The place in the log from which Apache's broker recovered after a kill."""
    (start,) = (match[1] for line in apache.log if (match := RECOVERED_FROM.search(line)))
    return int(start)


def last_file_before(view: View, time_ms: int) -> int:
    """Where the last log file begins whose first message was stored before a time."""
    times = {message.physical_offset // LOG_FILE: message.store_timestamp for message in reversed(list(view))}
    return LOG_FILE * max(file for file, at in times.items() if at <= time_ms)


def look_at(broker: ApacheBroker | Rocketwire, sent: list[Sent]) -> View:
    """What the broker serves; it is whole, and all that was sent is there."""
    view = look(broker.broker)
    assert_whole(view, times_up_to=QUEUE_FILE if isinstance(broker, ApacheBroker) else None)
    assert_there(view, sent)
    return view


def test_apache_writes_rocketwire_goes_on_apache_serves_both(store: SharedStore, clients: Clients) -> None:
    official = Official(clients)
    with store.apache() as apache:
        sent = begin(apache)
        with Connection(apache.broker) as connection:
            delivered = send_delayed(connection, SMALL, "delivered", level=1)
        official.send_and_consume(apache)
        wait_until(lambda: deliveries(look(apache.broker), delivered) == 1)
        first = look_at(apache, sent)
        topics = topic_configs(apache.broker)
        with Connection(apache.broker) as connection:
            due = send_delayed(connection, SMALL, "due while rocketwire runs", level=2)
            pending = send_delayed(connection, SMALL, "pending", level=18)
    files, delays = store.digests(*LOG), store.config("delayOffset.json")
    groups = store.config("subscriptionGroup.json")["subscriptionGroupTable"]

    with store.rocketwire() as rocketwire:
        served = look_at(rocketwire, sent)
        assert served.starts_with(first)
        assert {due, pending} <= {message.unique_key for message in served}
        assert small_times(served) == small_times(first)
        assert committed(rocketwire.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
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
    assert_kept(groups, store.config("subscriptionGroup.json")["subscriptionGroupTable"])
    assert store.config("delayOffset.json") == delays

    with store.apache() as apache:
        wait_until(lambda: deliveries(look(apache.broker), due) == 1)
        third = look_at(apache, sent)
        assert third.starts_with(second)
        assert [deliveries(third, key) for key in (delivered, due, pending)] == [1, 1, 0]
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [111, 112, 13]
        assert_kept(topics, topic_configs(apache.broker))
        official.send_and_consume(apache)


def test_rocketwire_writes_apache_goes_on_rocketwire_serves_both(store: SharedStore, clients: Clients) -> None:
    official = Official(clients)
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
        official.send_and_consume(rocketwire)
        first = look_at(rocketwire, sent)
        topics = topic_configs(rocketwire.broker)
    groups = store.config("subscriptionGroup.json")["subscriptionGroupTable"]
    offsets = store.config("consumerOffset.json")["offsetTable"]

    with store.apache() as apache:
        served = look_at(apache, sent)
        assert_same(served, first)
        assert small_times(served) == small_times(first)
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
        assert_kept(topics, topic_configs(apache.broker))
        official.send_and_consume(apache)
        sent += send(apache.broker, "second")
        with Connection(apache.broker) as connection:
            commit(connection, "raw", LARGE, {1: 112})
            create_topic(connection, "MadeByApache", 5)
            pending = send_delayed(connection, SMALL, "pending", level=18)
        second = look_at(apache, sent)
        assert second.starts_with(first)
        topics = topic_configs(apache.broker)
    files = store.digests(*LOG)
    assert_kept(groups, store.config("subscriptionGroup.json")["subscriptionGroupTable"])
    assert offsets.keys() <= store.config("consumerOffset.json")["offsetTable"].keys()

    with store.rocketwire() as rocketwire:
        third = look_at(rocketwire, sent)
        assert_same(third, second)
        assert pending in {message.unique_key for message in third.queues[SCHEDULE, 17]}
        assert committed(rocketwire.broker, "raw", LARGE, range(QUEUES)) == [11, 112, 13]
        assert_kept(topics, topic_configs(rocketwire.broker))
    assert store.digests(*LOG) == files
    with store.rocketwire() as rocketwire:
        official.send_and_consume(rocketwire)


def test_deleted_queues_and_index_are_made_again(store: SharedStore) -> None:
    """First an opening that has nothing to do, which leaves everything as it was."""
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
        first = look_at(rocketwire, sent)
    files = store.digests(*LOG)
    with store.apache() as apache:
        assert_same(look_at(apache, sent), first)
    assert store.digests(*LOG) == files

    store.remove("consumequeue", "index")
    with store.rocketwire() as rocketwire:
        assert_same(look_at(rocketwire, sent), first)
    assert store.digests(*LOG) == files

    store.remove("consumequeue", "index")
    with store.apache() as apache:
        assert_same(look_at(apache, sent), first)
    assert store.digests(*LOG) == files


def test_killed_in_turn(store: SharedStore) -> None:
    """Whoever opens the store next finds all that the killed one acknowledged, each message once.

    What was there at the last clean stop need not be read again after a kill.
    """
    sync, later = {"flushDiskType": "SYNC_FLUSH"}, {"flushDiskType": "ASYNC_FLUSH"}
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
    with store.apache(**sync) as apache:
        sent += kill_under_load(apache, "apache-sync")
    with store.rocketwire(**sync) as rocketwire:
        look_at(rocketwire, sent)
        sent += kill_under_load(rocketwire, "rocketwire-sync")
    with store.apache(**later) as apache:
        look_at(apache, sent)
        sent += kill_under_load(apache, "apache-async")
    with store.rocketwire(**later) as rocketwire:
        look_at(rocketwire, sent)
        sent += kill_under_load(rocketwire, "rocketwire-async")
    with store.rocketwire(**later) as rocketwire:
        look_at(rocketwire, sent)
    flushed = store.flushed_before()
    with store.rocketwire(**later) as rocketwire:
        sent += kill_under_load(rocketwire, "rocketwire-last")
    with store.apache(**later) as apache:
        last = look_at(apache, sent)
    assert 0 < last_file_before(last, flushed) == recovered_from(apache)
    files = store.digests(*LOG)
    with store.rocketwire(**later) as rocketwire:
        assert_same(look_at(rocketwire, sent), last)
    assert store.digests(*LOG) == files


def test_a_store_of_5_5_0(store: SharedStore) -> None:
    """What 5.x keeps besides (timers, RocksDB) is left as it is."""
    with store.apache("5.5.0") as apache:
        sent = begin(apache)
        first = look_at(apache, sent)
        topics = topic_configs(apache.broker)
    own = store.digests(*OWN_OF_5)
    assert any(name.startswith("rocksdbstore/") for name in own)
    with store.rocketwire() as rocketwire:
        assert_same(look_at(rocketwire, sent), first)
        assert_kept(topics, topic_configs(rocketwire.broker))
        assert committed(rocketwire.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
        sent += send(rocketwire.broker, "second")
        second = look_at(rocketwire, sent)
        topics = topic_configs(rocketwire.broker)
        with Connection(rocketwire.broker) as connection:
            commit(connection, "raw", LARGE, {1: 112})
    assert store.digests(*OWN_OF_5) == own
    with store.apache("5.5.0") as apache:
        third = look_at(apache, sent)
        assert_same(third, second)
        assert_kept(topics, topic_configs(apache.broker))
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [11, 112, 13]
        sent += send(apache.broker, "third")
        look_at(apache, sent)
        apache.kill()  # its clean stop takes 10 s
    with store.rocketwire() as rocketwire:
        assert look_at(rocketwire, sent).starts_with(third)


def test_5_5_0_and_rocketwire_killed(store: SharedStore) -> None:
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
        topics = topic_configs(rocketwire.broker)
    with store.rocketwire() as rocketwire:
        sent += kill_under_load(rocketwire, "rocketwire")
    with store.apache("5.5.0") as apache:
        look_at(apache, sent)
        assert_kept(topics, topic_configs(apache.broker))
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
        sent += kill_under_load(apache, "apache")
    with store.rocketwire() as rocketwire:
        look_at(rocketwire, sent)


def test_after_old_files_were_removed(store: SharedStore) -> None:
    """The first entries of queues and index point to what is gone; everybody begins behind them."""
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire) + send(rocketwire.broker, "second")
        first = look_at(rocketwire, sent)
    store.expire(keep=4)
    with store.rocketwire() as rocketwire:
        second = look_at(rocketwire, [])
    kept = {message.unique_key for message in second}
    sent = [each for each in sent if each.unique_key in kept]
    assert 0 < second.ends[LARGE, 0][0] < second.ends[LARGE, 0][1] == first.ends[LARGE, 0][1]
    with store.apache() as apache:
        assert_same(look_at(apache, sent), second)
        sent += send(apache.broker, "third")
        third = look_at(apache, sent)
    assert third.starts_with(second)
    with store.rocketwire() as rocketwire:
        assert_same(look_at(rocketwire, sent), third)
