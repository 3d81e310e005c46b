"""The units of a slot, a piece at a time: other work is done between two pieces, and no more of them is in memory."""

from __future__ import annotations

from collections.abc import Iterator

from rocketwire.store.layout.timer_log import NO_UNIT, WAITS
from rocketwire.store.timer.index import TimerIndex
from rocketwire.store.timer.units import Unit


def pieces(index: TimerIndex, slot_ms: int, most: int) -> Iterator[list[Unit]]:
    """Go over the units of a slot that there are at this moment, newest first.

    Args:
        index: The index.
        slot_ms: Start of the slot in ms.
        most: How many units each piece goes over.

    Returns:
        Those of each piece that wait when it is read.
    """
    number = slot_ms // index.precision
    slot = index.wheel.get(number)
    return _pieces(index, number, NO_UNIT if slot is None else slot.last_position, most)


def _pieces(index: TimerIndex, number: int, position: int, most: int) -> Iterator[list[Unit]]:
    get, precision = index.log.unit, index.precision
    while position >= 0:
        waiting: list[Unit] = []
        for _ in range(most):
            unit = get(position)
            if unit is None:
                position = NO_UNIT
                break
            if unit.outcome == WAITS and unit.slot_time // precision == number:
                waiting.append(unit)
            position = unit.previous if unit.previous < position else NO_UNIT
        yield waiting
