"""Layout of 5.x's timer log: one unit of 52 bytes for each message that waits for its time.

The units of one wheel slot (layout.timer_wheel) are chained backwards by `previous`. A unit is not put where it would
leave less than BLANK_SIZE bytes of its file: a blank ends the file there, which has the layout of a unit's first three
fields.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Final

from construct import Int32sb, Int64sb, Struct

from rocketwire.store.layout.derive import dtype_fields, fixed_struct
from rocketwire.wire.facts.record import BLANK_MAGIC

_HEAD: Final = (
    "size" / Int32sb,
    "previous" / Int64sb,
    "magic" / Int32sb,
)

#: `previous` is the position of the slot's unit before this one, NO_UNIT for none. The message is due `delay` ms after
#: `write_time` (ms). `physical_offset` and `record_size` say where it is in the commit log, `topic_hash` is Java's
#: String.hashCode of its real topic. `outcome` is rocketwire's: the outcome of the message. To Apache's brokers it is
#: reserved: they write 0 and never read it.
UNIT = Struct(
    *_HEAD,
    "write_time" / Int64sb,
    "delay" / Int32sb,
    "physical_offset" / Int64sb,
    "record_size" / Int32sb,
    "topic_hash" / Int32sb,
    "outcome" / Int64sb,
)
#: `size` counts the bytes left of the file, `previous` is 0, `magic` that of the commit log's blank.
BLANK = Struct(*_HEAD)

UNIT_STRUCT = fixed_struct(UNIT)
UNIT_DTYPE = dtype_fields(UNIT)
UNIT_SIZE = UNIT_STRUCT.size
BLANK_STRUCT = fixed_struct(BLANK)
BLANK_SIZE = BLANK_STRUCT.size
NO_UNIT: Final = -1
#: Values of `outcome`; a positive one is the physical offset of the copy, or of the record that takes its place.
WAITS: Final = 0
#: It is settled without a copy: cancelled, undeliverable, or moved to a later unit.
NO_COPY: Final = -1
#: It never was a message: it is a filler for Apache's brokers (store.timer.tidying).
FILLER: Final = -2
#: It has no record: the commit log has lost it, or it gets another unit.
NO_RECORD: Final = -3
FILE_SIZE: Final = 100 << 20


class UnitMagic(IntFlag):
    """Bits of a unit's magic: what is to happen when its time comes."""

    DEFAULT = 1
    """Every unit has it."""
    ROLL = 2
    """The time is farther away than one lap of the wheel: the message is stored again for another round."""
    DELETE = 4
    """The message cancels another one."""


#: A magic with another bit than these is damage: Apache leaves one for later use.
MAGIC_MASK: Final = 0xF


def blank(size: int) -> bytes:
    """The blank that ends a file with `size` bytes remaining."""
    return BLANK_STRUCT.pack(size, 0, BLANK_MAGIC)
