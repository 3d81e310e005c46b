"""Units of the timer log compared with the records they are of."""

from __future__ import annotations

from typing import Final

from rocketwire.store.layout.record import properties_of, topic_of
from rocketwire.store.layout.timer_log import WAITS
from rocketwire.store.timer.units import Unit
from rocketwire.wire.java import natural_number, string_hash
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import REAL_TOPIC, TIMER_OUT_MS, decode_properties

_TOPIC: Final = TIMER_TOPIC.encode()


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
