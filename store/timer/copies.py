"""Copies of timer records in the commit log: the messages stored when they were due, and their records.

rocketwire stores the record's physical offset in the copy. Apache's brokers do not: their copies are matched by topic,
unique key and TIMER_OUT_MS, and one copy settles one record. A record that was stored for another round has one round
more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.layout.record import head_dtype, properties_of, store_timestamp, topic_of
from rocketwire.wire.facts.properties import REAL_TOPIC, TIMER_DEQUEUE_MS, TIMER_OUT_MS, TIMER_ROLL_TIMES, UNIQ_KEY
from rocketwire.wire.facts.record import HOST_BITS, RECORD_HEADS, SYS_FLAG_AT
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import decode_stored_properties

if TYPE_CHECKING:
    from rocketwire.store.store import MessageStore
    from rocketwire.store.timer.unit_table import UnitTable

#: Bytes in every copy, and in a record that was stored again for another round.
NEEDLE: Final = f"{TIMER_DEQUEUE_MS}\x01".encode()
_TIMER_TOPIC: Final = TIMER_TOPIC.encode()
_NAMES: Final = [name for name, _ in head_dtype(0)]
_PHYSICAL: Final = _NAMES.index("physical_offset")
_PREPARED: Final = _NAMES.index("prepared_transaction_offset")

#: Records that are read in one step.
_AT_ONCE: Final = 256

#: Topic, unique key, TIMER_OUT_MS and round (None: delivered) of what was stored for a record.
Key = tuple[str, str, str, int | None]


class RecordCopy(NamedTuple):
    """What was stored for the record at `prepared_offset`; 0 if the copy does not name its record.

    A committed message has the physical offset of its half message there, where no timer record is.
    """

    physical_offset: int
    prepared_offset: int
    record: memoryview


def find_copies(store: MessageStore, start: int, end: int) -> Iterator[list[RecordCopy]]:
    """The copies between two physical offsets, a part of the log at a time; a record or file begins at `start`."""
    while start < end:
        scanned = store.scan(start, end, NEEDLE)
        yield [_copy(record) for record in scanned.records]
        start = scanned.next_offset


def _copy(record: memoryview) -> RecordCopy:
    head = head_fields(record)
    return RecordCopy(head[_PHYSICAL], head[_PREPARED], record)


def head_fields(record: memoryview) -> tuple[int, ...]:
    """The fields of a record's head; hosts are bytes."""
    bits = int.from_bytes(record[SYS_FLAG_AT : SYS_FLAG_AT + 4]) & HOST_BITS
    return RECORD_HEADS[bits].unpack_from(record)


def is_copy_of(record: memoryview | None, physical_offset: int) -> bool:
    """Whether a record is the copy of the one at a physical offset."""
    return record is not None and head_fields(record)[_PREPARED] == physical_offset


def key_of_copy(record: memoryview) -> Key:
    """The key of a copy that does not name its record; one in the timer's topic waits for its next round."""
    rolled = topic_of(record) == _TIMER_TOPIC
    real, key, out, times = _identity(record)
    return real, key, out, times if rolled else None


def keys_of_record(record: memoryview) -> tuple[Key, Key]:
    """The key of a timer record's copy, and the key of what is stored for its next round."""
    real, key, out, times = _identity(record)
    return (real, key, out, None), (real, key, out, times + 1)


def _identity(record: memoryview) -> tuple[str, str, str, int]:
    properties = decode_stored_properties(properties_of(record))
    times = properties.get(TIMER_ROLL_TIMES, "0")
    return (
        properties.get(REAL_TOPIC, ""),
        properties.get(UNIQ_KEY, ""),
        properties.get(TIMER_OUT_MS, ""),
        int(times) if times.isdecimal() else 0,
    )


class ForeignCopies:
    """Copies that Apache's broker stored in one log, by their keys."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self._places: defaultdict[Key, list[int]] = defaultdict(list)
        self._newest = 0

    def add(self, copy: RecordCopy) -> None:
        """Add a copy."""
        self._places[key_of_copy(copy.record)].append(copy.physical_offset)
        self._newest = max(self._newest, store_timestamp(copy.record))

    def of_units(self, units: UnitTable) -> Iterator[list[tuple[int, int]]]:
        """The units that have a copy, some at a time: their index in the columns, and the copy's physical offset."""
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
        """As of_units, for records between two queue offsets: the physical offsets of the record and its copy."""
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
