"""Finding messages by their store time."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.store import MessageStore
from tests.store.support import START, Clock, draft, open_store, remove_log_file, small


@pytest.mark.parametrize(
    ("time", "offset"),
    [(0, 0), (0.4, 1), (0.6, 1), (7, 7), (29, 29), (29.5, 30), (100, 30), (-100, 0), (15.2, 16), (15.9, 16)],
)
def test_the_first_message_stored_then_or_later(tmp_path: Path, time: float, offset: int) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    for n in range(30):
        clock.now = START + n * 1000
        store.append([draft(n)])
    assert store.offset_by_time("T", 0, START + int(time * 1000)) == offset


def test_of_messages_stored_at_one_time_the_first(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    for n in range(30):
        clock.now = START + n // 10 * 1000
        store.append([draft(n)])
    assert [store.offset_by_time("T", 0, START + time) for time in (0, 1, 1000, 1001, 2000)] == [0, 10, 10, 20, 20]


def test_queues_without_messages_have_no_times(store: MessageStore) -> None:
    assert store.offset_by_time("none", 0, START) == 0
    assert store.earliest_time("none", 0) == -1
    assert store.store_time("none", 0, 0) == -1
    store.append([draft(0)])
    assert store.earliest_time("T", 0) == START
    assert store.store_time("T", 0, 0) == START
    assert store.store_time("T", 0, 1) == -1
    store._queues.by_key["T", 0].remove()
    assert store.offset_by_time("T", 0, START) == 0


def test_a_message_that_cannot_be_read_ends_the_search(store: MessageStore) -> None:
    store.append([draft(n) for n in range(60)])
    remove_log_file(store)
    assert store.offset_by_time("T", 0, START - 1) == 0
