"""Reading and settling many units of a mapped timer log file at once: by the kernel, or by the Python twin here.

`low` is the position of the file's first byte. Both stop at the first unit that is not in the file.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from typing import Final

from rocketwire import native
from rocketwire.store.layout.timer_log import UNIT, UNIT_SIZE, UNIT_STRUCT, WAITS, UnitMagic
from rocketwire.store.timer.units import DueTimerUnit
from rocketwire.wire.facts.layout import positions

_OFFSETS: Final = positions(UNIT)
_OUTCOME_AT: Final = _OFFSETS["outcome"]
_OUTCOME: Final = struct.Struct(">q")
_COUNTED_AT: Final = _OFFSETS["magic"]
#: magic, topic_hash, outcome
_COUNTED: Final = struct.Struct(f">i{_OFFSETS['topic_hash'] - _COUNTED_AT - 4}xiq")
_ROLL: Final = int(UnitMagic.ROLL)
_DELETE: Final = int(UnitMagic.DELETE)


def due_units_by_python(
    kind: type[DueTimerUnit], mapping: mmap.mmap | bytearray, low: int, positions: array[int]
) -> list[DueTimerUnit]:
    """Read units.

    Args:
        kind: DueTimerUnit.
        mapping: The file.
        low: Position of its first byte.
        positions: Positions of the units.
    """
    last = len(mapping) - UNIT_SIZE
    found: list[DueTimerUnit] = []
    for position in positions:
        if not 0 <= position - low <= last:
            break
        _, _, magic, write_time, _, place, size, _, _ = UNIT_STRUCT.unpack_from(mapping, position - low)
        found.append(kind(place, size, write_time, position, bool(magic & _ROLL)))
    return found


def settle_units_by_python(
    mapping: mmap.mmap | bytearray, low: int, outcomes: list[tuple[int, int]], first: int, counts: dict[int, int]
) -> int:
    """Set outcomes of units.

    Args:
        mapping: The file.
        low: Position of its first byte.
        outcomes: Positions of units, and the outcome of each.
        first: Number of the first pair.
        counts: Updated: how many of the units waited, markers not counted, by the hashes of their topics.

    Returns:
        the number of the first pair that was not taken.
    """
    last = len(mapping) - UNIT_SIZE
    for number in range(first, len(outcomes)):
        position, outcome = outcomes[number]
        at = position - low
        if not 0 <= at <= last:
            return number
        magic, topic_hash, former = _COUNTED.unpack_from(mapping, at + _COUNTED_AT)
        if former == WAITS and not magic & _DELETE:
            counts[topic_hash] = counts.get(topic_hash, 0) + 1
        _OUTCOME.pack_into(mapping, at + _OUTCOME_AT, outcome)
    return len(outcomes)


if native.kernel is None:
    due_units, settle_units = due_units_by_python, settle_units_by_python
else:
    due_units, settle_units = native.kernel.due_units, native.kernel.settle_units
