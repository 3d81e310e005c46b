"""Checking and rebuilding the wheel from the units of the timer log, with numpy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.timer_log import NO_UNIT
from rocketwire.store.layout.timer_wheel import SLOT_DTYPE
from rocketwire.store.timer.unit_table import UnitTable
from rocketwire.store.timer.wheel import Slot, TimerWheel

_SLOT: Final = np.dtype(SLOT_DTYPE)
#: Slots that are written in one step.
_STEP: Final = 4096


def pull_slots_forward(units: UnitTable, slots: int, now: int) -> None:
    """Make units that wait for a lap (`slots`) or longer roll earlier: else they block units due a lap earlier.

    A change to a smaller precision leaves such units. `now` is a slot number; all units of a slot roll together.
    """
    far = np.flatnonzero(units.waits & (units.number >= now + slots))
    if len(far):
        units.roll_at(far, now + slots // 2 + units.number[far] % (slots // 4), now)


def is_over_a_lap_late(units: UnitTable, slots: int) -> NDArray[np.bool_]:
    """Which waiting units are in slots whose place in the wheel (of `slots` places) a later slot needs."""
    waits = units.waits
    if not waits.any():
        return waits
    behind: NDArray[np.bool_] = waits & (units.number <= units.number[waits].max() - slots)
    return behind


def leads_to_all(wheel: TimerWheel, units: UnitTable) -> bool:
    """Whether the wheel points to the newest unit of every slot with a waiting unit."""
    slots = np.unique(units.number[units.waits])
    if not len(slots):
        return True
    of_slots = np.isin(units.number, slots)
    numbers, from_end = np.unique(units.number[of_slots][::-1], return_index=True)
    newest = units.position[of_slots][::-1][from_end]
    rows = np.frombuffer(wheel.mapping, _SLOT)[numbers % wheel.slots]
    return bool(((rows["time"] == numbers) & (rows["last_position"] == newest)).all())


def rebuild(wheel: TimerWheel, units: UnitTable, *, oldest: int) -> Iterator[None]:
    """Write every slot with a waiting unit, with all of its units, and clear all others from slot `oldest` on.

    Raises:
        DiskFull: there is no room for the wheel.
    """
    slots = np.unique(units.number[units.waits])
    yield from wheel.forget_from(oldest, set(slots.tolist()))
    members = np.flatnonzero(np.isin(units.number, slots))
    if not len(members):
        return
    members = members[np.argsort(units.number[members], kind="stable")]
    numbers, positions = units.number[members], units.position[members]
    first = np.empty(len(members), bool)
    first[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    previous = np.empty(len(members), np.int64)
    previous[1:] = positions[:-1]
    previous[first] = NO_UNIT
    units.link(members, previous)
    yield
    starts = np.flatnonzero(first)
    counts = np.add.reduceat(np.where(units.deletes[members], -1, 1), starts).tolist()
    bounds = pairwise([*starts.tolist(), len(members)])
    for done, ((start, stop), count) in enumerate(zip(bounds, counts, strict=True), 1):
        number = int(numbers[start])
        wheel.reserve(number)
        wheel.put(Slot(number, int(positions[start]), int(positions[stop - 1]), count, 0))
        if done % _STEP == 0:
            yield
