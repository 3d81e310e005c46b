"""Messages in flight in one store, which rocketwire and Apache's 5.5.0 broker open alternately.

Theory: the broker on the store gives again what was not acknowledged in time, and nothing else, however the one before
ended, and whichever of the two popped the message and took the acknowledgement.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import Rocketwire
from compat_tests.pop_traffic import PopBook, now
from compat_tests.remoting import Connection
from compat_tests.shared_store import POPPING, SharedStore, assert_undamaged
from compat_tests.store_traffic import create_group, create_topic, send_all_kinds
from compat_tests.store_view import look
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer

TOPIC: Final = "Popped"
GROUP: Final = "poppers"
QUEUES: Final = {"reviveQueueNum": "2"}
# Apache does not search for what was popped between the last save of the offsets and a kill, not even its own.
SAVED: Final = {**QUEUES, "flushConsumerOffsetInterval": "100"}
SAVED_WITHIN: Final = 1.0
APACHE: Final = {**POPPING, **QUEUES}
APACHE_WITHIN: Final = 60.0
"""Seconds. Apache reads check points every second, waits for two more, and begins some seconds after its start."""
OURS_WITHIN: Final = 10.0
INVISIBLE: Final = 6000
"""Of messages that the next broker gives again."""


def send(broker: ApacheBroker | Rocketwire, name: str) -> None:
    """Send messages to both queues, of each kind."""
    with Connection(broker.broker) as connection:
        send_all_kinds(connection, TOPIC, name, queues=2, count=12)


def stay(broker: ApacheBroker | Rocketwire, book: PopBook, name: str) -> None:
    """Pop messages; some are acknowledged, kept longer, or left for the next broker."""
    with Connection(broker.broker) as connection:
        found = book.pop(connection, most=20, invisible=INVISIBLE)
        assert len(found) >= 12, (name, found)
        book.ack(connection, found[0:3])
        book.ack_all(connection, found[3:7])
        book.change(connection, found[7], INVISIBLE + 2000)
        book.change(connection, found[8], 100)
        book.ack(connection, [book.out[found[7].name]])


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_each_gives_again_what_the_other_left(tmp_path: Path, name_server: ApacheNameServer, end: str) -> None:
    store = SharedStore(tmp_path, name_server)
    book = PopBook(TOPIC, GROUP)
    with store.rocketwire(**SAVED) as broker:
        with Connection(broker.broker) as connection:
            create_topic(connection, TOPIC, 2)
            create_group(connection, GROUP, 16)
        send(broker, "a")
        stay(broker, book, "a")
        if end == "killed":
            time.sleep(SAVED_WITHIN)
            broker.kill()
    assert_undamaged(store.path)
    with store.apache("5.5.0", **APACHE) as apache:
        with Connection(apache.broker) as connection:
            book.wait(connection, book.unacked(), APACHE_WITHIN, invisible=INVISIBLE)
            book.ack_all(connection, [got for got in book.out.values() if got.name not in book.acked][:3])
        send(apache, "b")
        stay(apache, book, "b")
        if end == "killed":
            apache.kill()
    store.remove_unfinished()
    assert_undamaged(store.path)
    with store.rocketwire(**SAVED) as broker:
        left = {book.out[name].due for name in book.unacked()}
        time.sleep(max(0.0, (max(left) - now()) / 1000 + 0.3))
        with Connection(broker.broker) as connection:
            book.wait(connection, book.unacked(), OURS_WITHIN, invisible=INVISIBLE)
            book.ack_all(connection, [got for got in book.out.values() if got.name not in book.acked])
        assert not book.unacked()
        time.sleep(INVISIBLE / 1000 + 1)
        with Connection(broker.broker) as connection:
            while found := book.pop(connection):
                book.ack(connection, found)
        if end == "killed":
            time.sleep(SAVED_WITHIN)
            broker.kill()
    assert_undamaged(store.path)
    with store.apache("5.5.0", **APACHE) as apache:
        time.sleep(8)
        with Connection(apache.broker) as connection:
            assert book.pop(connection) == []
        assert look(apache.broker).queues[TOPIC, 0]


def test_messages_in_retry_topics_with_long_names_are_given_by_each(
    tmp_path: Path, name_server: ApacheNameServer
) -> None:
    """Their records are of version 2."""
    topic, group = "T" * 127, "g" * 120
    store = SharedStore(tmp_path, name_server)
    book = PopBook(topic, group)
    with store.rocketwire(**QUEUES) as broker, Connection(broker.broker) as connection:
        create_topic(connection, topic, 2)
        create_group(connection, group, 16)
        send_all_kinds(connection, topic, "a", queues=2, count=4)
        names = {got.name for got in book.pop(connection, invisible=500)}
        assert len(names) >= 4
        book.wait(connection, names, OURS_WITHIN, invisible=INVISIBLE)
    assert_undamaged(store.path)
    with store.apache("5.5.0", **APACHE) as apache, Connection(apache.broker) as connection:
        book.wait(connection, names, APACHE_WITHIN, invisible=INVISIBLE)
    with store.rocketwire(**QUEUES) as broker, Connection(broker.broker) as connection:
        again = book.wait(connection, names, OURS_WITHIN + INVISIBLE / 1000)
        book.ack(connection, again)
        assert not book.unacked()
    assert_undamaged(store.path)
