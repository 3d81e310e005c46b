"""The near part of the wheel."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketwire.server.timer.tasks import WakeSignal
from rocketwire.server.timer.topic import TimerEntries, TimerTopicReader
from rocketwire.server.timer.wheel import loaded
from rocketwire.server.timer.wheel.markers import CancelMarkers
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord
from tests.server.harness import Clock
from tests.server.timer.support import Timers
from tests.store.support import START, open_store, small

NOW = START - START % 1000


def waiting_in(*seconds: int, after: int = 0) -> TimerEntries:
    """Consecutive messages of the log, behind so many others."""
    outs = [NOW + 1000 * second + 5 for second in seconds]
    return TimerEntries([TimerRecord(out, 100 * at, 90, 7, cancels=False) for at, out in enumerate(outs, after)], 0)


@contextmanager
def near_wheel(folder: Path) -> Iterator[tuple[NearWheel, Clock]]:
    """A wheel over a store without messages, and its clock."""
    store, clock = open_store(small(folder)), Clock()
    clock.now = NOW
    index = TimerIndex.open(store.settings, store, FileSystem(), now=NOW)
    assert list(index.recovery()) == []
    topic = TimerTopicReader(store)
    yield NearWheel(index, topic, CancelMarkers(topic, index.precision, 0), clock, WakeSignal()), clock
    index.close()
    store.close()


def test_a_message_far_away_does_not_hide_the_slots_before_it(tmp_path: Path) -> None:
    """Between reading a slot and searching the next one a message may be added to a slot far behind that."""
    with near_wheel(tmp_path) as (near, clock):
        near.enter(waiting_in(1, 3, 5))
        assert near.read(NOW)  # begins with the first slot, so that the next one is unknown
        near.enter(waiting_in(9, after=3))
        for second in range(1, 10):
            clock.now = NOW + 1000 * second
            while near.read(near.now()):
                pass
        assert [run.due - NOW for run in near.take(NOW + 10_000, 100)] == [1005, 3005, 5005, 9005]


def test_nothing_is_added_a_lap_from_overdue_slots(tmp_path: Path) -> None:
    """It would use a place in the wheel that is needed for a slot before it, and wait without end."""
    with near_wheel(tmp_path) as (near, clock):
        near.enter(waiting_in(5))
        index = near.index
        lap, window = index.wheel.slots, index.window
        clock.now = NOW + 1000 * (5 + 2 * lap)
        near.enter(waiting_in(5 + 2 * lap + window // 2, after=1))
        near.enter(waiting_in(5 + window // 2, 5 + 2 * lap - 1, after=2))
        assert index.pending == 4
        found, at = [], index.next_slot(NOW, NOW + 1000 * lap)
        while at is not None:
            found.append((at - NOW) // 1000)
            at = index.next_slot(at + 1000, NOW + 1000 * lap)
        assert found == [5, 5 + window // 2, lap - 1]  # of the last one there are two, which roll


async def test_waiting_messages_are_delivered_while_none_can_be_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots cannot be finished then, and stay in memory."""
    monkeypatch.setattr(loaded, "_MOST_UNSETTLED", 4)
    sent = [b"%d" % number for number in range(10, 30)]
    async with Timers.started(tmp_path) as timers:
        for number, body in enumerate(sent):
            timers.send_in(body, 10_000 + number * 1000)
        await timers.pass_time(1)
        with monkeypatch.context() as patch:

            def refused(*_: object) -> None:
                raise OSError(errno.ENOSPC, "no space left")

            patch.setattr(TimerIndex, "put", refused)
            timers.send_in(b"late", 5000)
            for _ in range(35):
                await timers.pass_time(1000)
            assert timers.delivered() == sent
        await timers.pass_time(1000)
        assert timers.delivered() == [*sent, b"late"]


async def test_a_slot_that_cannot_be_read_blocks_none_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers = Timers(tmp_path)
    sent = [b"%d" % number for number in range(600)]
    for body in sent:
        timers.send_in(body, 10_500)
    timers.send_in(b"x", 11_500)
    timers.send_in(b"y", 11_500)
    timers.cancel_in("x", 11_500)
    async with timers.running():
        await timers.pass_time(1)
    timers.stop()
    async with Timers.started(tmp_path, clock=timers.clock) as again:
        with monkeypatch.context() as patch:

            def refused(*_: object) -> None:
                raise OSError(errno.EMFILE, "too many open files")

            patch.setattr(TimerTopicReader, "cancelled_by", refused)
            for _ in range(23):
                await again.pass_time(500)
            again.send_in(b"between", 100)
            await again.pass_time(1000)
            assert again.delivered() == sent
        for _ in range(3):
            await again.pass_time(500)
        late = again.delivered()[len(sent) :]
        assert sorted(late) == [b"between", b"y"]
