"""The near part of the wheel."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from rocketwire.server.timer import loaded
from rocketwire.server.timer.bell import Bell
from rocketwire.server.timer.markers import Markers
from rocketwire.server.timer.topic import Entries, TimerTopic
from rocketwire.server.timer.wheel import NearWheel
from rocketwire.store.files import RealFileSystem
from rocketwire.store.timer.index import TimerIndex
from rocketwire.store.timer.waiting import Waiting
from tests.server.harness import Clock
from tests.server.timer.support import Timers
from tests.store.support import START, open_store, small

NOW = START - START % 1000


def waiting_in(*seconds: int) -> Entries:
    return Entries([Waiting(NOW + 1000 * second + 5, 100 * second, 90, 7, deletes=False) for second in seconds], 0)


def test_what_is_put_far_away_does_not_hide_the_slots_before_it(tmp_path: Path) -> None:
    """Between a slot that is read and the search for the next one messages may come for a slot far behind that."""
    store, clock = open_store(small(tmp_path)), Clock()
    clock.now = NOW
    index = TimerIndex.open(store.settings, store, RealFileSystem(), now=NOW)
    assert list(index.recovery()) == []
    topic = TimerTopic(store)
    near = NearWheel(index, topic, Markers(topic, index.precision, 0), clock, Bell())
    near.enter(waiting_in(1, 3, 5))
    assert near.read(NOW)  # begins with the first slot, so that the next one is not known
    near.enter(waiting_in(9))
    for second in range(1, 10):
        clock.now = NOW + 1000 * second
        while near.read(near.now()):
            pass
    assert [run.due - NOW for run in near.take(NOW + 10_000, 100)] == [1005, 3005, 5005, 9005]
    index.close()
    store.close()


async def test_what_waits_is_delivered_while_nothing_more_can_be_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots cannot be passed then, and stay in memory."""
    monkeypatch.setattr(loaded, "_MOST_UNSETTLED", 4)
    timers = Timers(tmp_path)
    sent = [b"%d" % number for number in range(10, 30)]
    async with timers.running():
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
    timers.stop()


async def test_a_slot_that_cannot_be_read_holds_up_none_before_it(
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
    again = Timers(tmp_path, clock=timers.clock)
    async with again.running():
        with monkeypatch.context() as patch:

            def refused(*_: object) -> None:
                raise OSError(errno.EMFILE, "too many open files")

            patch.setattr(TimerTopic, "cancelled_by", refused)
            for _ in range(23):
                await again.pass_time(500)
            again.send_in(b"between", 100)
            await again.pass_time(1000)
            assert again.delivered() == sent
        for _ in range(3):
            await again.pass_time(500)
        late = again.delivered()[len(sent) :]
        assert sorted(late) == [b"between", b"y"]
    again.stop()
