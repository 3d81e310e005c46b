"""A damaged store of Apache's is repaired, and served by Apache's broker and by rocketwire."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from compat_tests.remoting import Connection
from compat_tests.shared_store import LOG_FILE, SharedStore, assert_undamaged, verified
from compat_tests.store_traffic import create_topic, send_all_kinds
from compat_tests.store_view import Queue, View, look, pull
from compat_tests.stored import Stored, records
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.store.offline.repair.repair import repair

TOPIC: Final = "Repaired"
QUEUES: Final = 3


def write(broker: str, name: str) -> None:
    """Messages of all kinds."""
    with Connection(broker) as connection:
        create_topic(connection, TOPIC, QUEUES)
        send_all_kinds(connection, TOPIC, name, queues=QUEUES, count=600)


def damage(root: Path, lost: list[Stored]) -> None:
    """Overwrite a part of some records."""
    for each in lost:
        file, at = divmod(each.physical_offset, LOG_FILE)
        with (root / "commitlog" / f"{file * LOG_FILE:020d}").open("r+b") as log:
            log.seek(at + 2)
            log.write(b"\x55" * 40)


def pulled(broker: str, queue: Queue, end: int) -> list[Stored]:
    """A queue's messages, as a consumer gets them that follows the next offsets."""
    found: list[Stored] = []
    offset = 0
    with Connection(broker) as connection:
        while offset < end:
            answer = pull(connection, queue, offset=offset)
            if answer.code == 0:
                found += records(answer.body)
            following = int(answer.fields["nextBeginOffset"])
            assert following > offset, answer
            offset = following
    # A message that replaces lost ones is delivered more than once in a row, as any may be.
    return [each for each, former in zip(found, [None, *found], strict=False) if each != former]


def assert_left(broker: str, before: View, lost: list[Stored]) -> None:
    """All that is not lost is served, with the bytes it had."""
    gone = {each.physical_offset for each in lost}
    for queue, messages in before.queues.items():
        expected = [each.raw for each in messages if each.physical_offset not in gone]
        assert [each.raw for each in pulled(broker, queue, before.ends[queue][1])] == expected, queue


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_the_remains_of_a_store_are_served_by_both(tmp_path: Path, name_server: ApacheNameServer, version: str) -> None:
    store = SharedStore(tmp_path, name_server)
    with store.apache(version):
        write(store.broker, "first")
        before = look(store.broker)
    assert_undamaged(store.path)
    messages = list(before)
    # Single ones, several in a row of one queue, and some near the end; some in each of the first files.
    lost = [messages[number] for number in (5, 100, 101, 102, 103, 104, 105, 106, 300, 590)]
    damage(store.path, lost)
    assert len(verified(store.path)[1]) >= len(lost) - 6
    damaged = store.path.rename(tmp_path / "damaged")
    done = repair(str(damaged), str(store.path), lambda _: None, clock=lambda: time.time_ns() // 1_000_000)
    assert done.lost == len(lost)
    assert_undamaged(store.path)
    with store.rocketwire():
        assert_left(store.broker, before, lost)
    assert_undamaged(store.path)
    with store.apache(version):
        assert_left(store.broker, before, lost)
        write(store.broker, "second")
        after = {queue: pulled(store.broker, queue, before.ends[queue][1] + 200)[-200:] for queue in before.queues}
    assert all(len(found) == 200 for found in after.values())
    assert_undamaged(store.path)
