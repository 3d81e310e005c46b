"""One unit of the timer log, the record it is of, and how times, slots and TIMER_OUT_MS follow from one another.

A slot of the wheel holds what is due within `precision` milliseconds: slot number k is of the messages that are due
after k * precision and up to (k + 1) * precision. Slots are spoken of by the time in ms at which they begin.

A record says the time by its TIMER_OUT_MS, from which the slot follows by a floored division. It is the time itself, or
1 ms less where that ends in 0: so for every precision that is a multiple of 10 the slot is the one that Apache's time,
which is floored, has; and a change of the precision changes no message's time. Apache's TIMER_OUT_MS end in 0, ours
never do.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.store.layout.record import properties_of, topic_of
from rocketwire.store.layout.timer_log import WAITS, UnitMagic
from rocketwire.wire.java import natural_number, string_hash
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import REAL_TOPIC, TIMER_OUT_MS, decode_properties

# Plain numbers: an enum's `&` makes an enum again, which costs more than the rest of what is done with a unit.
_ROLL: Final = int(UnitMagic.ROLL)
_DELETE: Final = int(UnitMagic.DELETE)
_GRID: Final = 10
_LAST: Final = _GRID - 1
_TOPIC: Final = TIMER_TOPIC.encode()


class Waiting(NamedTuple):
    """A timer record, as the index of the timer takes it.

    Attributes:
        out: Its TIMER_OUT_MS: a time in ms since 1970, from which the time it is due follows.
        physical_offset: Where the record stands in the log.
        record_size: Its size in bytes.
        topic_hash: Java's hash of the topic it is to be delivered to.
        deletes: Whether it is a marker, that cancels another message.
    """

    out: int
    physical_offset: int
    record_size: int
    topic_hash: int
    deletes: bool


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


def is_timer_record(record: memoryview | None) -> bool:
    """Whether it is a record of a message that waits."""
    return record is not None and topic_of(record) == _TOPIC


def topic_hash_of(record: memoryview) -> int:
    """What the unit of a timer record says of the topic it is for."""
    return string_hash(_properties(record).get(REAL_TOPIC, ""))


def fits(unit: Unit, record: memoryview | None) -> bool:
    """Whether a unit says what its record says.

    A unit that waits goes on before the record's time only when it rolls: else it is of a record that the log has lost,
    in whose place another one was stored.
    """
    if record is None or len(record) != unit.record_size or topic_of(record) != _TOPIC:
        return False
    properties = _properties(record)
    if string_hash(properties.get(REAL_TOPIC, "")) != unit.topic_hash:
        return False
    out = natural_number(properties.get(TIMER_OUT_MS, ""))
    return unit.outcome != WAITS or (out is not None and (out > unit.slot_time) is unit.rolls)


def _properties(record: memoryview) -> dict[str, str]:
    return decode_properties(properties_of(record).decode("utf-8", "replace"))
