"""Stores written with another precision: waiting messages come at their time nevertheless, and once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.server.harness import NOW, Clock
from tests.server.timer.support import Timers

#: When messages are due, ms from `NOW`: within a slot, at its ends, just before and behind them, some rolls away.
DELAYS = (90, 300, 999, 1000, 1001, 1009, 1010, 1900, 2000, 2010, 2999, 3000, 3456, 5000, 7009, 9990, 12_345, 20_000)
CANCELLED = (1000, 2005, 9000, 12_340)
LAP = 1_209_600


def timers_of(folder: Path, clock: Clock, precision: int, window: int = 3) -> Timers:
    return Timers(folder, clock=clock, timer_precision=precision, timer_roll_window=window)


def due_by(delays: Sequence[int], passed: int) -> list[bytes]:
    """The messages that come within so many ms after `NOW`: a time that ends in 9 is 1 ms late."""
    return sorted(str(delay).encode() for delay in delays if delay + (delay % 10 == 9) <= passed)


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("precisions", [(1000, 100, 100), (100, 1000, 1000), (1000, 100, 500), (200, 1000, 100)])
async def test_a_change_of_precision_delivers_nothing_early_or_twice(
    tmp_path: Path, precisions: tuple[int, int, int], killed: bool
) -> None:
    clock = Clock()
    clock.now = NOW
    stops, passed, rolled = (950, 4321, 21_000), 0, 0
    for precision, stop in zip(precisions, stops, strict=True):
        timers = timers_of(tmp_path, clock, precision)
        if not passed:
            for delay in DELAYS:
                timers.send_in(str(delay).encode(), delay)
            for delay in CANCELLED:
                timers.send_in(b"not " + str(delay).encode(), delay, key=f"K{delay}")
            # Half of the markers are sent with the first precision, half with the second.
        for delay in CANCELLED[:2] if not passed else CANCELLED[2:] if stop < stops[-1] else ():
            timers.cancel_in(f"K{delay}", delay - passed)
        moments = sorted({each for delay in DELAYS for each in (delay - 1, delay, delay + 1) if passed < each < stop})
        async with timers.running():
            assert sorted(timers.delivered()) == due_by(DELAYS, passed)
            for moment in [*moments, stop]:
                await timers.pass_time(moment - passed)
                passed = moment
                assert sorted(timers.delivered()) == due_by(DELAYS, passed)
        rolled += timers.timer.counts.rolled
        if killed:
            timers.kill()
        else:
            timers.stop()
    assert rolled > 3
    assert len(due_by(DELAYS, passed)) == len(DELAYS)


@pytest.mark.parametrize("killed", [False, True])
async def test_messages_more_than_a_lap_of_smaller_slots_away_roll(tmp_path: Path, killed: bool) -> None:
    """Such a message uses a slot that comes a lap before its time; other messages of that slot are not delayed."""
    clock = Clock()
    clock.now = NOW
    far = 150_000_000
    near = far - LAP * 100
    timers = timers_of(tmp_path, clock, 1000, 172_800)
    async with timers.running():
        timers.send_in(b"far", far)
        timers.send_in(b"not far", far, key="K")
        timers.send_in(b"near", near)
        await timers.pass_time(1)
    timers.kill() if killed else timers.stop()
    timers = timers_of(tmp_path, clock, 100, 172_800)
    async with timers.running():
        assert timers.timer.pending == 3
        timers.send_in(b"new", near - 1)
        timers.cancel_in("K", far - 1)
        await timers.pass_time(near - 2)
        assert timers.delivered() == []
        await timers.pass_time(1)
        assert sorted(timers.delivered()) == [b"near", b"new"]
        while clock.now < NOW + far - 1:
            await timers.pass_time(min(3_600_000, NOW + far - 1 - clock.now))
            assert len(timers.delivered()) == 2
        await timers.pass_time(1)
        assert timers.delivered()[2:] == [b"far"]
        assert (timers.timer.counts.delivered, timers.timer.counts.cancelled) == (3, 1)
        assert timers.timer.counts.rolled > 2
    timers.stop()
