"""Places of the wheel that what waits for a later lap has taken: so it may be after the clock stood far ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.store.errors import WheelFull
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.timer.units import slot_of
from rocketwire.store.timer.wheel import Slot, empty

if TYPE_CHECKING:
    from rocketwire.store.timer.index import TimerIndex


def make_way(index: TimerIndex, now: int) -> int:
    """Have what keeps the last `put` from its place roll in half a lap or more, if it waits for a later lap.

    Args:
        index: The index.
        now: The time in ms.

    Returns:
        The start in ms of the slot where it rolls.

    Raises:
        WheelFull: what stands there is of an earlier lap, or no other place is free.
        DiskFull: there is no room for that slot.
    """
    number, precision, slots = index.blocked, index.precision, index.wheel.slots
    slot = None if number is None else index.wheel.at(number)
    if number is None or slot is None or slot.time <= number:
        raise WheelFull(index.wheel.path)
    first = now // precision + slots // 2
    # Never behind its own slot: it would be late.
    places = range(first + slot.time % (slots // 4), min(first + slots // 2, slot.time))
    free = next((place for place in places if index.slot_to_put(place) == empty(place)), None)
    if free is None:
        raise WheelFull(index.wheel.path)
    waiting = index.waiting_in(slot.time * precision)
    write_time = slot_of(now, precision)
    # At every moment each of them belongs to the slot that its time is of.
    index.wheel.put(Slot(free, waiting[-1].position, waiting[0].position, slot.messages, 0))
    for unit in waiting:
        magic, delay = unit.magic | int(UnitMagic.ROLL), free * precision - write_time
        index.log.rewrite(unit._replace(magic=magic, write_time=write_time, delay=delay))
    return free * precision
