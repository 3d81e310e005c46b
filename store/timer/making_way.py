"""Places of the wheel that what waits for a later lap has taken: so it may be after the clock stood far ahead.

What is put goes into a slot less than a lap later than the one to be read next. Only when the clock is set back do
slots that hold units come to be farther from that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.store.errors import WheelFull
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.timer.wheel import Slot, empty

if TYPE_CHECKING:
    from rocketwire.store.timer.timer_index import TimerIndex


def make_way(index: TimerIndex) -> int:
    """Have what keeps the last `put` from its place, if it waits for a later lap, roll in an earlier slot.

    That is at least half a lap, and less than one, later than the slot to be read next: so it comes before the units'
    own slot even when the timer is far behind.

    Args:
        index: The index.

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
    half, write_time = slots // 2, index.read_time
    first = write_time // precision + half
    places = (first + (slot.time % (slots // 4) + further) % half for further in range(half))
    free = next((place for place in places if index.slot_to_put(place) == empty(place)), None)
    if free is None:
        raise WheelFull(index.wheel.path)
    waiting = index.waiting_in(slot.time * precision)
    # At every moment each of them belongs to the slot that its time is of.
    index.wheel.put(Slot(free, waiting[-1].position, waiting[0].position, slot.messages, 0))
    for unit in waiting:
        magic, delay = unit.magic | int(UnitMagic.ROLL), free * precision - write_time
        index.log.rewrite(unit._replace(magic=magic, write_time=write_time, delay=delay))
    return free * precision
