"""One index file (layout.index): from the hash of a key to physical offsets in the commit log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocketwire.store.disk.segment import Segment
from rocketwire.store.index.index_entries import EntryPlaces, put_entries, scan_entries
from rocketwire.store.layout.index import (
    ENTRY_SIZE,
    ENTRY_STRUCT,
    HEADER_SIZE,
    HEADER_STRUCT,
    SLOT_SIZE,
    file_size,
)

if TYPE_CHECKING:
    from rocketwire.store.disk.files import FileSystem

_WINDOW: Final = 1 << 20
#: So many entries of a chain are read singly; then all entries of the file are read, `_BLOCK` at once: one of them
#: costs some 80 times less than a step.
_STEPS: Final = 1000
_BLOCK: Final = 1 << 16


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
            self._segment.populate(0, self._segment.reserved)
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
    def is_full(self) -> bool:
        """Whether no entry fits any more."""
        return self.entry_count >= self._entries

    def put(self, hashes: memoryview, offsets: memoryview, timestamps: memoryview) -> int:
        """Put entries, given by three rows of 64-bit numbers, in their order; give how many fitted.

        Raises:
            DiskFull: there is no room; nothing was put.
        """
        count = min(len(hashes), self._entries - self.entry_count)
        if count <= 0:
            return 0
        first = self.entry_count
        entries_at = HEADER_SIZE + self._slots * SLOT_SIZE
        self._make_room(entries_at + first * ENTRY_SIZE, count * ENTRY_SIZE)
        places = EntryPlaces(HEADER_SIZE, self._slots, entries_at, first, self.begin_timestamp)
        self.slot_count += put_entries(self._segment.mapping, places, hashes, offsets, timestamps, count)
        if first == 1:
            self.begin_offset = offsets[0]
            self.begin_timestamp = timestamps[0]
        self.entry_count = first + count
        self.end_offset = offsets[count - 1]
        self.end_timestamp = timestamps[count - 1]
        self._write_header()
        return count

    def extend_header_to(self, offset: int, timestamp: int) -> None:
        """Move the header's end to a message (stored at a time in ms) behind the last entry; those between have no key.

        Apache, too, counts the messages up to the header's end as indexed.
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
                segment.populate_written(0, start)
            segment.reserve(start + length, _WINDOW)
            segment.populate(start, segment.reserved - start)

    def count_at_end(self, offset: int) -> int:
        """How many of the newest entries are of the record at a physical offset."""
        view = self._segment.view
        number = self.entry_count - 1
        while number > 0 and ENTRY_STRUCT.unpack_from(view, self._entry_at(number))[1] == offset:
            number -= 1
        return self.entry_count - 1 - number

    def _entry_at(self, number: int) -> int:
        return HEADER_SIZE + self._slots * SLOT_SIZE + number * ENTRY_SIZE

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
        for _ in range(_STEPS):
            # Numbers fall along a chain, else it is damaged.
            if not 0 < number < following or len(found) >= most:
                return found
            entry_hash, offset, difference, previous = ENTRY_STRUCT.unpack_from(view, self._entry_at(number))
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
        found: list[int] = []
        for stop in range(newest + 1, 1, -_BLOCK):
            count = min(_BLOCK, stop - 1)
            at = self._entry_at(stop - count)
            self._segment.prefetch(at, count * ENTRY_SIZE)
            most_here = most - len(found)
            times = self.begin_timestamp, begin, end
            offsets, older = scan_entries(self._segment.view, at, count, key_hash, most_here, *times)
            found += offsets
            if len(found) >= most or older:
                break
        return found

    def sync(self) -> None:
        """Put the file on the disk. Safe in a thread."""
        self._segment.sync()

    def unmap(self) -> None:
        """Forget the mapping until the next use."""
        self._segment.unmap()

    def remove(self) -> None:
        """Remove the file."""
        self._segment.remove()
