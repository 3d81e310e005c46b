"""Markers at the end of the timer's topic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from rocketwire.server.timer.records import CancelledMessage
from rocketwire.server.timer.topic import TimerTopicReader
from rocketwire.server.timer.wheel.markers import MOST_MARKERS, CancelMarkers, split_at_markers
from rocketwire.store.append.drafts import Draft
from rocketwire.store.store import MessageStore
from rocketwire.store.timer.units import TimerUnit
from rocketwire.wire.names import TIMER_TOPIC
from tests.server.timer.support import timer_draft
from tests.store.support import START, open_store, small

DUE = START + 5500
SAME_TIME = timer_draft(b"", DUE, key="x").properties


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MessageStore]:
    opened = open_store(small(tmp_path))
    yield opened
    opened.close()


def marker(key: str, due: int = DUE) -> Draft:
    return timer_draft(b"", due, key=f"D{key}", TIMER_DEL_UNIQKEY=key)


def search(markers: CancelMarkers) -> None:
    assert list(markers.read_new(lambda: 0.0)) == []


def put(store: MessageStore, *drafts: Draft) -> None:
    assert len(store.append(drafts)) == len(drafts)


def test_markers_are_known_after_the_topic_was_searched(store: MessageStore) -> None:
    topic = TimerTopicReader(store)
    markers = CancelMarkers(topic, 1000, 0)
    search(markers)
    put(store, timer_draft(b"", DUE, key="a"), marker("a"), marker("b", DUE + 1000))
    search(markers)
    for key, due, cancelled in (("a", DUE, True), ("a", DUE + 1000, False), ("b", DUE + 1000, True), ("c", DUE, False)):
        assert markers.is_cancelled(CancelledMessage("T", key), timer_draft(b"", due, key=key).properties) is cancelled
    assert not markers.is_cancelled(CancelledMessage("Other", "a"), SAME_TIME)
    assert not markers.is_cancelled(CancelledMessage("T", "a"), b"TIMER_OUT_MS\x01never")
    assert not markers.is_cancelled(CancelledMessage("T", "a"), b"")


def test_a_long_search_takes_several_steps(store: MessageStore) -> None:
    put(store, *(timer_draft(b"", DUE, key=f"{number}") for number in range(600)), marker("a"))
    markers = CancelMarkers(TimerTopicReader(store), 1000, 0)
    assert len(list(markers.read_new(count().__next__))) > 1
    assert markers.is_cancelled(CancelledMessage("T", "a"), SAME_TIME)


def test_steps_are_short_while_requests_come(store: MessageStore) -> None:
    put(store, *(timer_draft(b"", DUE, key=f"{number}") for number in range(600)), marker("a"))
    markers = CancelMarkers(TimerTopicReader(store), 1000, 0)
    seen = [markers.looked for _ in markers.read_new(lambda: 0.0, is_busy=lambda: True)]
    assert max(after - before for before, after in itertools.pairwise(seen)) == 32
    assert markers.is_cancelled(CancelledMessage("T", "a"), SAME_TIME)


def test_a_search_catches_up_with_any_senders(store: MessageStore) -> None:
    some = [timer_draft(b"", DUE, key=f"{number}") for number in range(600)]
    put(store, *some)
    markers = CancelMarkers(TimerTopicReader(store), 1000, 0)
    steps = 0
    for _ in markers.read_new(count().__next__):  # each step has time for one piece
        put(store, *some)
        steps += 1
        assert steps < 10
    assert markers.looked == store.max_offset(TIMER_TOPIC, 0) == 600 * (steps + 1)


def test_markers_that_are_in_the_index_are_forgotten_later(store: MessageStore) -> None:
    topic = TimerTopicReader(store)
    markers = CancelMarkers(topic, 1000, 0)
    put(store, marker("a"))
    search(markers)
    markers.enqueued(0)
    put(store, marker("b"))
    search(markers)
    assert markers.is_cancelled(CancelledMessage("T", "a"), SAME_TIME)
    assert markers.is_cancelled(CancelledMessage("T", "b"), SAME_TIME)
    markers.enqueued(1)
    markers.enqueued(2)
    markers.enqueued(2)
    assert not markers.is_cancelled(CancelledMessage("T", "a"), SAME_TIME)
    assert not markers.is_cancelled(CancelledMessage("T", "b"), SAME_TIME)


def units(magic: int, count: int) -> list[TimerUnit]:
    return [TimerUnit(number, -1, magic, 0, 0, 0, 0, 0, 0) for number in range(count)]


def test_a_piece_has_few_markers_and_all_keep_their_order() -> None:
    plain, markers = units(1, 1000), units(4, 2 * MOST_MARKERS + 1)
    pieces = list(split_at_markers([plain, [*plain, *markers, *plain], markers[:MOST_MARKERS]]))
    assert [sum(unit.cancels for unit in piece) for piece in pieces] == [0, MOST_MARKERS, MOST_MARKERS, 1, MOST_MARKERS]
    assert [unit for piece in pieces[1:4] for unit in piece] == [*plain, *markers, *plain]
