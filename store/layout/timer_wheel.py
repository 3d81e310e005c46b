"""Layout of 5.x's timer wheel: a slot for every second of two weeks, reused in each lap.

A slot holds the positions of the first and the last unit of its second in the timer log (layout.timer_log). It is never
cleared: a slot whose `time` is not the wanted one counts as empty.
"""

from __future__ import annotations

from typing import Final

from construct import Int32sb, Int64sb, Struct

from rocketwire.store.layout.derive import dtype_fields, fixed_struct

#: `time` is in units of the precision (timerPrecisionMs, 1000 ms if nothing else is set), 0 in a slot never used.
#: `count` is the number of messages less those cancelled; nothing is kept in `magic`.
SLOT = Struct(
    "time" / Int64sb,
    "first_position" / Int64sb,
    "last_position" / Int64sb,
    "count" / Int32sb,
    "magic" / Int32sb,
)
SLOT_STRUCT = fixed_struct(SLOT)
SLOT_DTYPE = dtype_fields(SLOT)
SLOT_SIZE = SLOT_STRUCT.size
#: 7 days of seconds, twice, whatever the precision.
SLOT_COUNT: Final = 7 * 86_400 * 2
FILE_SIZE = SLOT_COUNT * SLOT_SIZE


def slot_number(time: int) -> int:
    """The slot of a time in units of the precision."""
    return time % SLOT_COUNT
