"""One unit of the timer log, the record it is of, and how times, slots and TIMER_OUT_MS follow from one another.

A slot of the wheel has the messages due within `precision` milliseconds: slot number k has the messages that are due
after k * precision and up to (k + 1) * precision. A slot is identified by the time in ms at which it begins.

The due time is stored in the record's TIMER_OUT_MS, from which the slot follows by a floored division. It is the time
itself, or 1 ms less if that ends in 0: so with every precision that is a multiple of 10 the slot is the same as with
Apache, which floors the time; and a change of the precision changes no due time. Apache's TIMER_OUT_MS end in 0, ours
never do.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.store.layout.record import properties_of, topic_of
from rocketwire.store.layout.timer_log import WAITS, UnitMagic
from rocketwire.wire.facts.properties import REAL_TOPIC, TIMER_OUT_MS
from rocketwire.wire.java import parse_natural_number, string_hash
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import decode_stored_properties

# Plain numbers: an enum's `&` makes an enum again, which costs more than the rest of what is done with a unit.
_ROLL: Final = int(UnitMagic.ROLL)
_DELETE: Final = int(UnitMagic.DELETE)
_GRID: Final = 10
_LAST: Final = _GRID - 1
_TOPIC: Final = TIMER_TOPIC.encode()


class TimerRecord(NamedTuple):
    """A timer record, as `TimerIndex.put` takes it.

    Attributes:
        out: Its TIMER_OUT_MS: a time in ms since 1970, from which its due time follows (`due_time`).
        physical_offset: Physical offset of the record.
        record_size: Its size in bytes.
        topic_hash: Java's hash of the topic it is to be delivered to.
        deletes: Whether it is a marker, that cancels another message.
    """

    out_time: int
    physical_offset: int
    record_size: int
    topic_hash: int
    cancels: bool


class TimerUnit(NamedTuple):
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
        """A time in ms within the slot: TIMER_OUT_MS of the record, or the time before it at which it rolls."""
        return self.write_time + self.delay

    @property
    def rolls(self) -> bool:
        """Whether the record is only stored again, for another round, when its slot is due."""
        return bool(self.magic & _ROLL)

    @property
    def cancels(self) -> bool:
        """Whether the record cancels another one."""
        return bool(self.magic & _DELETE)


class DueTimerUnit(NamedTuple):
    """The fields of a unit that delivery needs.

    Attributes:
        physical_offset: Physical offset of the record.
        record_size: Its size in bytes.
        write_time: When the unit was written, in ms since 1970.
        position: Position of the unit in the timer log.
        rolls: Whether the record is only stored again, for another round.
    """

    physical_offset: int
    record_size: int
    write_time: int
    position: int
    rolls: bool


def slot_of(time: int, precision: int) -> int:
    """Start in ms of the slot of a time."""
    return time - time % precision


def out_time(due: int) -> int:
    """TIMER_OUT_MS of a message that is due at a time, both in ms since 1970."""
    return due if due % _GRID else due - 1


def due_time(out: int, precision: int) -> int:
    """When a message with that TIMER_OUT_MS is due, in ms; never before the requested time.

    That is the requested time, or 1 ms later if that ends in 9. A value of Apache's is a multiple of its precision, and
    up to that much too early.
    """
    last = out % _GRID
    if last == _LAST:
        return out + 1
    return out if last else out + precision


def is_coarse(out: int) -> bool:
    """Whether a TIMER_OUT_MS is Apache's, so that the requested time may be up to its precision later."""
    return not out % _GRID


def is_timer_record(record: memoryview | None) -> bool:
    """Whether it is a record of the timer's topic."""
    return record is not None and topic_of(record) == _TOPIC


def topic_hash_of(record: memoryview) -> int:
    """The `topic_hash` of a timer record's unit."""
    return string_hash(_properties(record).get(REAL_TOPIC, ""))


def unit_matches_record(unit: TimerUnit, record: memoryview | None) -> bool:
    """Whether a unit fits its record.

    A waiting unit is due before the record's time only if it rolls: else it belongs to a record that the log has lost,
    and another one was stored at that physical offset.
    """
    if record is None or len(record) != unit.record_size or topic_of(record) != _TOPIC:
        return False
    properties = _properties(record)
    if string_hash(properties.get(REAL_TOPIC, "")) != unit.topic_hash:
        return False
    out = parse_natural_number(properties.get(TIMER_OUT_MS, ""))
    return unit.outcome != WAITS or (out is not None and (out > unit.slot_time) is unit.rolls)


def _properties(record: memoryview) -> dict[str, str]:
    return decode_stored_properties(properties_of(record))
