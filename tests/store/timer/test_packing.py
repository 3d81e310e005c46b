"""Putting messages into the wheel where a later lap has taken their slot."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.errors import WheelFull
from rocketwire.store.timer.packing import free_blocked_slot
from rocketwire.store.timer.wheel import Slot, TimerWheel
from tests.store.timer.timers import NOW, Timers

OUT = NOW + 5_500


def test_a_later_lap_rolls_to_make_way(tmp_path: Path) -> None:
    timers = Timers(tmp_path)
    index = timers.index
    lap = index.wheel.slots * 1000
    with pytest.raises(WheelFull):
        free_blocked_slot(index)
    timers.clock.now = NOW + lap
    later = timers.put(OUT + lap, OUT + lap + 1)
    timers.clock.now = NOW
    (waiting,) = timers.add(OUT)
    assert index.put([waiting], NOW) == []
    start = free_blocked_slot(index)
    assert NOW + lap // 2 <= start < NOW + lap
    ((position, slot),) = index.put([waiting], NOW)
    index.queue_offset += 1
    assert slot == NOW + 5_000
    expected = [(slot, position), *[(start, place) for place, _ in later]]
    for _ in range(2):
        assert timers.waiting() == expected
        assert timers.index.pending == 3
        assert [timers.unit(place).rolls for _, place in expected] == [False, True, True]
        timers.kill()


def test_however_far_behind_nothing_rolls_behind_its_own_slot(tmp_path: Path) -> None:
    """The place is one of the lap that is to be read, not of the time."""
    timers = Timers(tmp_path)
    index = timers.index
    lap = index.wheel.slots * 1000
    timers.clock.now = NOW + lap
    timers.put(OUT + lap)
    (waiting,) = timers.add(OUT)
    assert index.put([waiting], NOW) == []
    assert NOW + lap // 2 <= free_blocked_slot(index) < NOW + lap
    assert timers.unit(0).rolls
    assert len(index.put([waiting], NOW)) == 1


def test_any_place_of_half_a_lap_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here only the one before that with which the search begins is free."""
    monkeypatch.setattr(TimerWheel, "slots", 2400)
    timers = Timers(tmp_path)
    index = timers.index
    lap = 2400 * 1000
    timers.clock.now = NOW + lap
    ((there, later),) = timers.put(OUT + lap)
    (waiting,) = timers.add(OUT)
    first = NOW // 1000 + 1200
    free = first + later // 1000 % 600 - 1
    for place in range(first, first + 1200):
        if place != free:
            index.wheel.reserve(place)
            index.wheel.put(Slot(place, there, there, 1, 0))
    assert index.put([waiting], NOW) == []
    assert free_blocked_slot(index) == free * 1000


def test_an_earlier_lap_stays(tmp_path: Path) -> None:
    timers = Timers(tmp_path)
    index = timers.index
    timers.put(OUT)
    (waiting,) = timers.add(OUT + index.wheel.slots * 1000)
    assert index.put([waiting], waiting.out_time - 5_000) == []
    with pytest.raises(WheelFull):
        free_blocked_slot(index)
