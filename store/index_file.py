"""One index file: where the records of a key are in the log (layout.index).

Entries are put in batches with numpy: the chains of a whole batch are computed by sorting its slots, so that an entry
whose slot occurs earlier in the batch points to that one and the first of a slot points to what the file had. The bytes
are the same as those of one put after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocketwire.store.layout.index import (
    ENTRY_DTYPE,
    ENTRY_SIZE,
    ENTRY_STRUCT,
    HEADER_SIZE,
    HEADER_STRUCT,
    SLOT_DTYPE,
    SLOT_SIZE,
    file_size,
)
from rocketwire.store.segment import Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocketwire.store.files import FileSystem

_WINDOW: Final = 1 << 20
#: So many entries of a chain are looked at one by one; then all entries of the file are, `_BLOCK` at once: one of them
#: costs some 80 times less than a step.
_STEPS: Final = 1000
_BLOCK: Final = 1 << 16
_INT32_MAX: Final = 0x7FFFFFFF
_ENTRY: Final = np.dtype(ENTRY_DTYPE)
_SLOT: Final = np.dtype(SLOT_DTYPE)


class IndexFile:
    """A file with room for `slots` slots and `entries` entries; its header is kept as attributes.

    Attributes:
        begin_timestamp, end_timestamp: Store times in ms of the first and last message.
        begin_offset, end_offset: Their physical offsets.
        slot_count: Slots in use.
        entry_count: Number of the next entry.
    """

    def __init__(self, path: str, slots: int, entries: int, files: FileSystem) -> None:
        self.path = path
        self._slots = slots
        self._entries = entries
        self._segment = Segment(path, 0, file_size(slots, entries), files, scattered=True)
        self._arrays: tuple[NDArray[Any], NDArray[Any]] | None = None
        self.begin_timestamp = self.end_timestamp = 0
        self.begin_offset = self.end_offset = 0
        self.slot_count = 0
        self.entry_count = 1

    @classmethod
    def create(cls, path: str, slots: int, entries: int, files: FileSystem, former: IndexFile | None) -> IndexFile:
        """Make a new file. Until its first entry, its header repeats the end of the full file before it.

        Raises:
            DiskFull: there is no room for its slots.
        """
        self = cls(path, slots, entries, files)
        self._segment.create()
        try:
            self._segment.reserve(HEADER_SIZE + slots * SLOT_SIZE + ENTRY_SIZE, _WINDOW)
            self._segment.touch(0, self._segment.reserved)
        except BaseException:
            self._segment.remove()
            raise
        if former is not None:
            self.begin_offset = self.end_offset = former.end_offset
            self.begin_timestamp = self.end_timestamp = former.end_timestamp
        self._write_header()
        self.unmap()  # the slots that were touched need not stay in this process's memory
        return self

    @classmethod
    def load(cls, path: str, slots: int, entries: int, files: FileSystem) -> IndexFile:
        """Read the header of an existing file."""
        self = cls(path, slots, entries, files)
        (
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.slot_count,
            count,
        ) = HEADER_STRUCT.unpack_from(self._segment.view)
        self.entry_count = min(max(1, count), entries)
        self.unmap()
        return self

    def _write_header(self) -> None:
        HEADER_STRUCT.pack_into(
            self._segment.mapping,
            0,
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.slot_count,
            self.entry_count,
        )

    @property
    def full(self) -> bool:
        """Whether no entry fits any more."""
        return self.entry_count >= self._entries

    def put(self, hashes: NDArray[np.int64], offsets: NDArray[np.int64], timestamps: NDArray[np.int64]) -> int:
        """Put entries in their order; give how many fitted.

        Raises:
            DiskFull: there is no room; nothing was put.
        """
        count = min(len(hashes), self._entries - self.entry_count)
        if count <= 0:
            return 0
        hashes, offsets, timestamps = hashes[:count], offsets[:count], timestamps[:count]
        first = self.entry_count
        entries_at = HEADER_SIZE + self._slots * SLOT_SIZE
        self._make_room(entries_at + first * ENTRY_SIZE, count * ENTRY_SIZE)
        slot_table, entry_table = self._tables()

        differences = self._time_differences(timestamps)
        slots = hashes % self._slots
        order = np.argsort(slots, kind="stable")
        in_order = slots[order]
        again = np.empty(count, bool)
        again[0] = False
        np.equal(in_order[1:], in_order[:-1], out=again[1:])
        numbers = order + first
        previous = np.empty(count, np.int64)
        previous[1:] = numbers[:-1]
        newcomers = ~again
        known = slot_table[in_order[newcomers]].astype(np.int64)
        known[(known < 0) | (known > first)] = 0
        previous[newcomers] = known

        new = entry_table[first : first + count]
        new["key_hash"] = hashes
        new["physical_offset"] = offsets
        new["time_diff"] = differences
        new["previous"][order] = previous
        newest = np.empty(count, bool)
        newest[-1] = True
        newest[:-1] = newcomers[1:]
        slot_table[in_order[newest]] = numbers[newest]

        if first == 1:
            self.begin_offset = int(offsets[0])
            self.begin_timestamp = int(timestamps[0])
        self.slot_count += int(np.count_nonzero(known == 0))
        self.entry_count = first + count
        self.end_offset = int(offsets[-1])
        self.end_timestamp = int(timestamps[-1])
        self._write_header()
        return count

    def pass_over(self, offset: int, timestamp: int) -> None:
        """Have the header end at a message (stored at a time in ms) behind the last entry: those between have no keys.

        For Apache as well, the messages up to the header's end are done.
        """
        if offset > self.end_offset:
            self.end_offset = offset
            self.end_timestamp = timestamp
            self._write_header()

    def _make_room(self, start: int, length: int) -> None:
        segment = self._segment
        if start + length > segment.reserved:
            if segment.reserved == 0:
                # An existing file, whose slots may be holes.
                segment.reserve(start + length, _WINDOW)
                segment.touch_written(0, start)
            segment.reserve(start + length, _WINDOW)
            segment.touch(start, segment.reserved - start)

    def count_at_end(self, offset: int) -> int:
        """How many of the newest entries are of the record at a physical offset."""
        _, entries = self._tables()
        number = self.entry_count - 1
        while number > 0 and int(entries[number]["physical_offset"]) == offset:
            number -= 1
        return self.entry_count - 1 - number

    def _time_differences(self, timestamps: NDArray[np.int64]) -> NDArray[np.int64]:
        begin = np.full(len(timestamps), self.begin_timestamp, np.int64)
        if self.entry_count == 1:
            # The first entry counts from the end of the file before; those after it from the first entry.
            begin[1:] = timestamps[0]
        differences: NDArray[np.int64] = np.clip((timestamps - begin) // 1000, 0, _INT32_MAX)
        differences[begin <= 0] = 0
        return differences

    def _tables(self) -> tuple[NDArray[Any], NDArray[Any]]:
        if self._arrays is None:
            mapping = self._segment.mapping
            self._arrays = (
                np.frombuffer(mapping, _SLOT, self._slots, HEADER_SIZE),
                np.frombuffer(mapping, _ENTRY, self._entries, HEADER_SIZE + self._slots * SLOT_SIZE),
            )
        return self._arrays

    def time_matches(self, begin: int, end: int) -> bool:
        """Whether the file may hold messages stored between two times (ms)."""
        return (
            (begin < self.begin_timestamp and end > self.end_timestamp)
            or self.begin_timestamp <= begin <= self.end_timestamp
            or self.begin_timestamp <= end <= self.end_timestamp
        )

    def select(self, key_hash: int, most: int, begin: int, end: int) -> list[int]:
        """Physical offsets of entries with a hash, newest first: at most `most`, stored between two times (ms).

        Times are compared as the file keeps them, in whole seconds from its begin.
        """
        view = self._segment.view
        slot_at = HEADER_SIZE + key_hash % self._slots * SLOT_SIZE
        number = int.from_bytes(view[slot_at : slot_at + SLOT_SIZE], signed=True)
        found: list[int] = []
        following = self.entry_count
        entries_at = HEADER_SIZE + self._slots * SLOT_SIZE
        for _ in range(_STEPS):
            # In a chain the numbers fall, else it is damaged.
            if not 0 < number < following or len(found) >= most:
                return found
            entry_hash, offset, difference, previous = ENTRY_STRUCT.unpack_from(view, entries_at + number * ENTRY_SIZE)
            if difference < 0:
                return found
            time = self.begin_timestamp + difference * 1000
            if entry_hash == key_hash and begin <= time <= end:
                found.append(offset)
            if time < begin:
                return found
            number, following = previous, number
        return found + self._scan(key_hash, following - 1, most - len(found), begin, end)

    def _scan(self, key_hash: int, newest: int, most: int, begin: int, end: int) -> list[int]:
        """As `select`, over all entries from number `newest` down."""
        _, entries = self._tables()
        entries_at = HEADER_SIZE + self._slots * SLOT_SIZE
        found: list[int] = []
        for stop in range(newest + 1, 1, -_BLOCK):
            start = max(1, stop - _BLOCK)
            self._segment.read_ahead(entries_at + start * ENTRY_SIZE, (stop - start) * ENTRY_SIZE)
            block = entries[start:stop]
            chosen = block[block["key_hash"] == key_hash][::-1]
            times = self.begin_timestamp + chosen["time_diff"].astype(np.int64) * 1000
            offsets = chosen["physical_offset"][(begin <= times) & (times <= end)]
            found += offsets[: most - len(found)].tolist()
            if len(found) >= most or (times < begin).any():
                break
        return found

    def sync(self) -> None:
        """Put the file on the disk. Safe in a thread."""
        self._segment.sync()

    def unmap(self) -> None:
        """Forget the mapping until the next use."""
        self._arrays = None
        self._segment.unmap()

    def remove(self) -> None:
        """Remove the file."""
        self._arrays = None
        self._segment.remove()
