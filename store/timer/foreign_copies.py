"""Copies that Apache's broker stored, which do not say for which record: they are matched by what both have.

One copy settles one record. It is of the same topic and unique key and has the same TIMER_OUT_MS; what was stored for
another round has gone one round more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.timer.copies import Copy, Key, key_of_copy, keys_of_record
from rocketwire.wire.names import TIMER_TOPIC

if TYPE_CHECKING:
    from rocketwire.store.store import MessageStore
    from rocketwire.store.timer.unit_table import UnitTable

#: Records that are read in one step.
_AT_ONCE: Final = 256


class ForeignCopies:
    """Copies of one log, by their keys."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self._places: defaultdict[Key, list[int]] = defaultdict(list)
        self._newest = 0

    def add(self, copy: Copy) -> None:
        """Take note of a copy."""
        self._places[key_of_copy(copy.record)].append(copy.physical_offset)
        self._newest = max(self._newest, store_timestamp(copy.record))

    def of_units(self, units: UnitTable) -> Iterator[list[tuple[int, int]]]:
        """The units that have a copy, some at a time: their place in the columns, and that of the copy in the log."""
        if not self._places:
            return
        waits = np.flatnonzero(units.waits).tolist()
        for start in range(0, len(waits), _AT_ONCE):
            found = []
            for index in waits[start : start + _AT_ONCE]:
                unit = units.unit(index)
                keys = self._keys(unit.physical_offset) if unit.slot_time <= self._newest else None
                copy_at = 0 if keys is None else self._take(keys[1] if unit.rolls else keys[0])
                if copy_at:
                    found.append((index, copy_at))
            yield found

    def of_records(self, start: int, end: int) -> Iterator[list[tuple[int, int]]]:
        """As of_units, for records of the timer's queue between two queue offsets: the record's place, the copy's."""
        while self._places and start < end:
            start, entries = self._store.queue_entries(TIMER_TOPIC, 0, start, min(_AT_ONCE, end - start))
            if not entries:
                return
            found = []
            for physical_offset, _, _ in ENTRY_STRUCT.iter_unpack(entries):
                keys = self._keys(physical_offset)
                copy_at = 0 if keys is None else self._take(keys[0]) or self._take(keys[1])
                if copy_at:
                    found.append((physical_offset, copy_at))
            start += len(entries) // ENTRY_SIZE
            yield found

    def _keys(self, physical_offset: int) -> tuple[Key, Key] | None:
        record = self._store.record_at(physical_offset)
        return None if record is None else keys_of_record(record)

    def _take(self, key: Key) -> int:
        places = self._places.get(key)
        return places.pop(0) if places else 0
