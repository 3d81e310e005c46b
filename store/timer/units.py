"""One unit of the timer log, and what follows from its times.

A slot of the wheel holds what is due within `precision` milliseconds: slot number k is of the messages that are due
after k * precision and up to (k + 1) * precision. Slots are spoken of by the time in ms at which they begin.

A record says the time by its TIMER_OUT_MS, from which the slot follows by a floored division. It is the time itself, or
1 ms less where that ends in 0: so for every precision that is a multiple of 10 the slot is the one that Apache's time,
which is floored, has; and a change of the precision changes no message's time. Apache's TIMER_OUT_MS end in 0, ours
never do.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.store.layout.timer_log import UnitMagic

# Plain numbers: an enum's `&` makes an enum again, which costs more than the rest of what is done with a unit.
_ROLL: Final = int(UnitMagic.ROLL)
_DELETE: Final = int(UnitMagic.DELETE)
_GRID: Final = 10
_LAST: Final = _GRID - 1


class Unit(NamedTuple):
    """A unit, by its position in the timer log; the other fields are those of layout.timer_log."""

    position: int
    previous: int
    magic: int
    write_time: int
    delay: int
    physical_offset: int
    record_size: int
    topic_hash: int
    outcome: int

    @property
    def slot_time(self) -> int:
        """A time in ms within the slot: TIMER_OUT_MS of the record, or a time before it at which it goes on."""
        return self.write_time + self.delay

    @property
    def rolls(self) -> bool:
        """Whether the record is only stored anew when its slot's time comes."""
        return bool(self.magic & _ROLL)

    @property
    def deletes(self) -> bool:
        """Whether the record cancels another one."""
        return bool(self.magic & _DELETE)


class DueUnit(NamedTuple):
    """What is to be known of a unit when its message is due.

    Attributes:
        physical_offset: Where the record stands in the log.
        record_size: Its size in bytes.
        write_time: When the unit was written, in ms since 1970.
        position: Where the unit stands in the timer log.
        rolls: Whether the record is only stored anew.
    """

    physical_offset: int
    record_size: int
    write_time: int
    position: int
    rolls: bool


def slot_of(time: int, precision: int) -> int:
    """Start in ms of the slot that a time belongs to."""
    return time - time % precision


def out_time(due: int) -> int:
    """TIMER_OUT_MS of what is due at a time, both in ms since 1970."""
    return due if due % _GRID else due - 1


def due(out: int, precision: int) -> int:
    """When a message with that TIMER_OUT_MS is due, in ms; never before the time that was asked for.

    That is the time that was asked for, or 1 ms later where that ends in 9. What Apache wrote is a multiple of its
    precision, and up to that much too early.
    """
    last = out % _GRID
    if last == _LAST:
        return out + 1
    return out if last else out + precision
