"""Packing messages into units of the timer log: which slot each goes into, and how a slot's units are chained.

A message goes into a slot less than one lap of the wheel after the slot to be read next. Only when the clock was set
back can slots that hold units be farther away, and take the place of an earlier slot; `free_blocked_slot` moves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from rocketwire.store.errors import DiskFull, WheelFull
from rocketwire.store.layout.timer_log import NO_UNIT, UNIT_SIZE, UNIT_STRUCT, WAITS, UnitMagic
from rocketwire.store.timer.log import TimerLog
from rocketwire.store.timer.units import TimerRecord
from rocketwire.store.timer.wheel import Slot, TimerWheel, empty
from rocketwire.wire.java import INT32_MAX

if TYPE_CHECKING:
    from rocketwire.store.timer.timer_index import TimerIndex

_DEFAULT: Final = int(UnitMagic.DEFAULT)
_ROLL: Final = int(UnitMagic.ROLL)
_DELETE: Final = int(UnitMagic.DELETE)
#: What the field `delay` can hold.
_DELAY_MAX: Final = INT32_MAX


class SlotSource(Protocol):
    """What `pack` needs of the index."""

    precision: int
    window: int
    read_time: int
    log: TimerLog
    wheel: TimerWheel

    def slot_to_put(self, number: int) -> Slot | None:
        """See TimerIndex."""
        ...


class PackedUnits(NamedTuple):
    """Units to be appended at the end of the timer log.

    Attributes:
        rows: The units.
        entered: Position and start of the slot in ms of each.
        slots: The new content of the wheel's slots.
        hashes: The topic hash of each message that is not a marker.
        blocked: The slot of the next message, which cannot be written now.
    """

    rows: bytearray
    entered: list[tuple[int, int]]
    slots: list[Slot]
    hashes: list[int]
    blocked: int | None


def roll_delay(ahead: int, window: int, precision: int) -> int:
    """How long in ms a message that is due in `ahead` ms, and at least `window` slots, waits before it rolls.

    That is a window, or half of one if the next round would else be a short one.
    """
    whole = min(window * precision, _DELAY_MAX)
    return window // 2 * precision if ahead - whole < window // 3 * precision else whole


def pack(index: SlotSource, waiting: Sequence[TimerRecord], write_time: int) -> PackedUnits:
    """Pack messages up to the first whose slot cannot be written; `write_time` (ms) is the start of a slot.

    Raises:
        DiskFull: the disk has no room for the first one's slot.
    """
    precision, read_time, window = index.precision, index.read_time, index.window
    overdue = max(write_time, read_time)
    far = min(window * precision, _DELAY_MAX)
    rows = bytearray(len(waiting) * UNIT_SIZE)
    pack_into = UNIT_STRUCT.pack_into
    entered: list[tuple[int, int]] = []
    hashes: list[int] = []
    slots: dict[int, list[int]] = {}
    position, at = index.log.end, 0
    blocked: int | None = None
    for out, physical_offset, size, topic_hash, deletes in waiting:
        magic, delay = _DEFAULT, out - write_time
        # A round that ends in the message's own slot would be useless: it would only be late, behind its markers.
        if (
            delay >= far
            and (write_time + (lap := roll_delay(delay, window, precision))) // precision < out // precision
        ):
            magic, delay = _DEFAULT | _ROLL, lap
        number = (write_time + delay) // precision
        if number * precision < read_time:
            number, delay = overdue // precision, overdue - write_time + 1  # due as soon as the slot begins
        slot = slots.get(number)
        if slot is None:
            slot = _take(index, number, slots, first=not entered)
            if slot is None:
                blocked = number
                break
        if deletes:
            magic |= _DELETE
            slot[3] -= 1
        else:
            slot[3] += 1
            hashes.append(topic_hash)
        row = (UNIT_SIZE, slot[2], magic, write_time, delay, physical_offset, size, topic_hash, WAITS)
        pack_into(rows, at, *row)
        if slot[1] == NO_UNIT:
            slot[1] = position
        slot[2] = position
        entered.append((position, number * precision))
        position += UNIT_SIZE
        at += UNIT_SIZE
    return PackedUnits(rows[:at], entered, [Slot._make(fields) for fields in slots.values()], hashes, blocked)


def _take(index: SlotSource, number: int, slots: dict[int, list[int]], *, first: bool) -> list[int] | None:
    try:
        slot = index.slot_to_put(number)
    except DiskFull:
        if first:
            raise
        return None
    if slot is None or number - index.wheel.slots in slots or number + index.wheel.slots in slots:
        return None
    slots[number] = fields = list(slot)
    return fields


def free_blocked_slot(index: TimerIndex) -> int:
    """Free the slot that the last `put` could not use, if units of a later lap are in it: they roll in an earlier slot.

    That slot is at least half a lap, and less than one, later than the slot to be read next: so it comes before the
    units' own slot even when the timer is far behind.

    Args:
        index: The index.

    Returns:
        The start in ms of the slot where they roll.

    Raises:
        WheelFull: the units there are of an earlier lap, or no other slot is free.
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
    # At every moment each unit belongs to the slot of its time.
    index.wheel.put(Slot(free, waiting[-1].position, waiting[0].position, slot.messages, 0))
    for unit in waiting:
        magic, delay = unit.magic | int(UnitMagic.ROLL), free * precision - write_time
        index.log.rewrite(unit._replace(magic=magic, write_time=write_time, delay=delay))
    return free * precision
