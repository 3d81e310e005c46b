"""Reading the next slots of a timer wheel in which messages wait."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout import timer_log, timer_wheel
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.opening import FileGone, OpenFile


class WaitingSlot(NamedTuple):
    """A slot in which something waits.

    Attributes:
        time: When it begins, ms.
        number: Its number in the wheel.
        messages: Messages that are to be delivered then.
        rolls: Messages and markers that are stored again then.
        markers: Markers whose messages are due then.
        chain: Units that are chained in it, those that are done among them; None when the wheel does not hold it.
        first: Position of the chain's first unit in the timer log.
        last: Position of its last one.
    """

    time: int
    number: int
    messages: int
    rolls: int
    markers: int
    chain: int | None
    first: int
    last: int


def next_slots(directory: StoreDirectory, waiting: NDArray[Any], precision: int, most: int) -> list[WaitingSlot]:
    """The first slots of waiting messages (units.WAITING) that have a unit, `most` at most.

    Raises:
        StoreUnreadable: wheel or timer log cannot be read.
    """
    units = waiting[waiting["position"] >= 0]
    times = units["out"] // precision
    found = []
    for time in np.unique(times)[:most].tolist():
        magic = units["magic"][times == time]
        rolls = (magic & UnitMagic.ROLL) != 0
        markers = ~rolls & ((magic & UnitMagic.DELETE) != 0)
        first, last = _chain_of(directory, time)
        found.append(
            WaitingSlot(
                time=time * precision,
                number=timer_wheel.slot_number(time),
                messages=int((~rolls & ~markers).sum()),
                rolls=int(rolls.sum()),
                markers=int(markers.sum()),
                chain=None if last == timer_log.NO_UNIT else _length(directory, last),
                first=first,
                last=last,
            )
        )
    return found


def _chain_of(directory: StoreDirectory, time: int) -> tuple[int, int]:
    """Positions of the first and the last unit of a slot: NO_UNIT when the wheel has it for another time."""
    nothing = timer_log.NO_UNIT, timer_log.NO_UNIT
    if directory.timer_wheel is None:
        return nothing
    with OpenFile(directory.timer_wheel.path, directory.files) as file:
        data = file.read(timer_wheel.slot_number(time) * timer_wheel.SLOT_SIZE, timer_wheel.SLOT_SIZE)
    if len(data) < timer_wheel.SLOT_SIZE:
        return nothing
    own, first, last, *_ = timer_wheel.SLOT_STRUCT.unpack(data)
    return (first, last) if own == time else nothing


def _length(directory: StoreDirectory, last: int) -> int:
    """How many units a chain has, up to where it leads out of the timer log."""
    length, position = 0, last
    for row_file in reversed(directory.timer_log):
        try:
            with OpenFile(row_file.path, row_file.files) as file:
                while row_file.start <= position < row_file.end:
                    data = file.read(position - row_file.start, timer_log.UNIT_SIZE)
                    if len(data) < timer_log.UNIT_SIZE:
                        return length
                    size, previous, *_ = timer_log.UNIT_STRUCT.unpack(data)
                    if size != timer_log.UNIT_SIZE or previous >= position:
                        return length
                    length, position = length + 1, previous
        except FileGone:
            return length
    return length
