"""The steps of the store's round trips: write, consume, kill, read, compare."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from compat_tests.endpoints import Rocketwire
from compat_tests.remoting import Connection
from compat_tests.shared_store import LOG_FILE, QUEUE_FILE
from compat_tests.store_traffic import (
    Load,
    Sent,
    assert_there,
    commit,
    create_topic,
    send_all_kinds,
)
from compat_tests.store_view import Queue, View, assert_whole, look, pull
from rocketwire.compat.brokers.apache import ApacheBroker
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing, assert_each_once
from rocketwire.wire.names import SCHEDULE_TOPIC

LARGE: Final = "Large"  # a topic of several consume queue files
SMALL: Final = "Small"  # a topic whose queues stay in their first file
OFFICIAL: Final = "Official"  # written and consumed by the official client
QUEUES: Final = 3

RECOVERED_FROM: Final = re.compile("recover from this mapped file store/commitlog/([0-9]{20})")

MESSAGES: Final = (
    Outgoing(body="plain", tags="TagA", keys="k1 k2"),
    Outgoing(body="汉字 und Umlaute äöü", tags="标签", keys="订单 k2", properties={"属性": "值"}),
    Outgoing(body="x", flag=7),
    Outgoing(body="compresses well ", repeat=4000, keys="big"),
    Outgoing(body="noise", size=90_000, keys="noise"),
    Outgoing(body="many", properties={f"p{i}": str(i) * i for i in range(1, 30)}),
)


class Official:
    """The official client at whichever broker runs; it knows what the group has consumed so far."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._round = itertools.count()

    def send_and_consume(self, broker: ApacheBroker | Rocketwire) -> None:
        """Messages of a new round come once to a group that has consumed all former ones, and none of those again."""
        client = Client(clients=self._clients, id="java-4.9.7", namesrv=broker.namesrv)
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
    """The store times of what was found by time in the queues of one file, where Apache is right as well.

    Of several messages of one ms 4.9.7 finds any, 5.5.0 and this broker the first. Behind the last message 4.9.7 finds
    that message, the others the end of the queue.
    """
    found = {(queue, at): offset for (queue, at), offset in view.by_time.items() if queue[0] == SMALL}
    return {
        (queue, at): view.queues[queue][min(offset, len(view.queues[queue]) - 1)].store_timestamp
        for (queue, at), offset in found.items()
    }


def assert_kept(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """All entries of a table of config/ exist with their values; 5.x adds other fields."""
    changed = {name: (entry, after.get(name)) for name, entry in before.items() if not kept(entry, after.get(name))}
    assert not changed


def kept(entry: Mapping[str, Any], after: Mapping[str, Any] | None) -> bool:
    """Whether all fields of an entry are as they were."""
    return after is not None and {**after, **entry} == after


def deliveries(view: View, unique_key: str) -> int:
    """How often a delayed message is in its topic."""
    return sum(message.unique_key == unique_key and message.topic != SCHEDULE_TOPIC for message in view)


def recovered_from(apache: ApacheBroker) -> int:
    """The place in the log from which Apache's broker recovered after a kill."""
    (start,) = (match[1] for line in apache.log if (match := RECOVERED_FROM.search(line)))
    return int(start)


def last_file_before(view: View, time_ms: int) -> int:
    """Where the last log file begins whose first message was stored before a time."""
    times = {message.physical_offset // LOG_FILE: message.store_timestamp for message in reversed(list(view))}
    return LOG_FILE * max(file for file, at in times.items() if at <= time_ms)


def checked_view(broker: ApacheBroker | Rocketwire, sent: list[Sent]) -> View:
    """What the broker serves; it is whole, and has all that was sent."""
    view = look(broker.broker)
    assert_whole(view, times_up_to=QUEUE_FILE if isinstance(broker, ApacheBroker) else None)
    assert_there(view, sent)
    return view
