"""Reading index files: from a key to the physical offsets of the messages that may have it.

How many slots and entries a file has is a setting of the broker and is not stored in the file. It is derived from size
and content (`geometry`): the first entries must have physical offsets that the header allows, and the slots that their
hashes lead to must be in use. The default is tried first, then what fitted the file before.

`look_up` also returns which part of the log the index covers: the broker may not have indexed the newest messages yet,
and keeps an index only if it is configured to. The rest of the log has to be scanned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.index.key_column import positive_hash
from rocketwire.store.layout.index import (
    ENTRY_DTYPE,
    ENTRY_SIZE,
    ENTRY_STRUCT,
    HEADER_SIZE,
    HEADER_STRUCT,
    SLOT_SIZE,
    file_size,
)
from rocketwire.store.offline.read.directory import PlainFile
from rocketwire.store.offline.read.opening import Closable, OpenFile

DEFAULT: Final = (5_000_000, 20_000_000)
_ENTRY: Final = np.dtype(ENTRY_DTYPE)
#: Entries that have to agree with slots.
_SAMPLE: Final = 32
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHeader:
    """An index file's header: store times in ms and physical offsets of its first and last message."""

    begin_timestamp: int
    end_timestamp: int
    begin_offset: int
    end_offset: int
    slot_count: int
    entry_count: int

    @property
    def keys(self) -> int:
        """How many keys were put: entries are numbered from 1, and `entry_count` is the number of the next."""
        return max(0, self.entry_count - 1)


class OpenIndexFile(Closable):
    """One index file, open for reading; close it, or use it as a context.

    Attributes:
        header: As it was when the file was opened.
        slots, entries: For how many there is room; None when the content does not have it (`geometry`).
    """

    def __init__(self, file: PlainFile, *, likely: tuple[int, int] = DEFAULT) -> None:
        """Open the file.

        Args:
            file: The file as `discover` found it.
            likely: Slots and entries that are tried before others.

        Raises:
            FileGone: it was removed.
            StoreUnreadable: it may not be read, is not a regular file, or shorter than a header.
        """
        self.path = file.path
        self._file = OpenFile(file.path, file.files)
        data = self._file.read(0, HEADER_SIZE)
        if len(data) < HEADER_SIZE:
            self._file.close()
            raise StoreUnreadable(file.path, f"it has {len(data)} bytes, an index file's header {HEADER_SIZE}")
        begin, end, begin_offset, end_offset, slot_count, entry_count = HEADER_STRUCT.unpack(data)
        self.header = IndexHeader(
            begin_timestamp=begin,
            end_timestamp=end,
            begin_offset=begin_offset,
            end_offset=end_offset,
            slot_count=slot_count,
            entry_count=entry_count,
        )
        self.geometry = self._find_geometry(file.size, likely)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def find(self, key_hash: int) -> Iterator[int]:
        """Physical offsets of the messages with a key of that hash, newest first; none if the geometry is not known.

        Raises:
            StoreUnreadable: a read failed.
        """
        if self.geometry is None:
            return
        slots, entries = self.geometry
        number = self._slot(slots, key_hash)
        if number > entries:
            return
        while number > 0:
            data = self._file.read(HEADER_SIZE + slots * SLOT_SIZE + number * ENTRY_SIZE, ENTRY_SIZE)
            if len(data) < ENTRY_SIZE:
                return
            entry_hash, offset, _, previous = ENTRY_STRUCT.unpack(data)
            if entry_hash == key_hash:
                yield offset
            # A chain leads to ever older entries; one that does not is damaged, and might never end.
            number = previous if previous < number else 0

    def _slot(self, slots: int, key_hash: int) -> int:
        data = self._file.read(HEADER_SIZE + key_hash % slots * SLOT_SIZE, SLOT_SIZE)
        return int.from_bytes(data, signed=True)

    def _find_geometry(self, size: int, likely: tuple[int, int]) -> tuple[int, int] | None:
        for slots, entries in (likely, DEFAULT):
            if file_size(slots, entries) == size and self._fits(slots, entries):
                return slots, entries
        if self.header.keys:
            for slots in self._candidates(size):
                entries = (size - HEADER_SIZE - slots * SLOT_SIZE) // ENTRY_SIZE
                if self._fits(slots, entries):
                    return slots, entries
        return None

    def _candidates(self, size: int) -> Iterator[int]:
        """Numbers of slots behind which the file looks as if there stood the unused first entry, then a real one."""
        words = ENTRY_SIZE // SLOT_SIZE
        high, low = divmod(self.header.begin_offset, 1 << 32)
        at = HEADER_SIZE
        while at + 2 * ENTRY_SIZE <= size:
            data = self._file.read(at, _BLOCK + 2 * ENTRY_SIZE)
            values = np.frombuffer(data, ">u4", len(data) // SLOT_SIZE)
            starts = len(values) - 2 * words + 1
            if starts <= 0:
                return
            found = np.ones(starts, bool)
            # Hash, physical offset in two halves, seconds, number of the entry before it.
            for place, value in [
                *((n, 0) for n in range(words)),
                (words + 1, high),
                (words + 2, low),
                (2 * words - 1, 0),
            ]:
                found &= values[place : place + starts] == value
            found &= values[words : words + starts] != 0
            for start in np.flatnonzero(found).tolist():
                slots = (at - HEADER_SIZE) // SLOT_SIZE + start
                if slots and (size - HEADER_SIZE - slots * SLOT_SIZE) % ENTRY_SIZE == 0:
                    yield slots
            at += starts * SLOT_SIZE

    def _fits(self, slots: int, entries: int) -> bool:
        """Whether the first entries agree with the header and with their slots."""
        if self.header.entry_count > entries:
            return False
        count = min(_SAMPLE, self.header.keys)
        data = self._file.read(HEADER_SIZE + slots * SLOT_SIZE + ENTRY_SIZE, count * ENTRY_SIZE)
        sample = np.frombuffer(data, _ENTRY, len(data) // ENTRY_SIZE)
        if len(sample) < count:
            return False
        begin = self.header.begin_offset
        for number, (key_hash, offset, _, previous) in enumerate(sample.tolist(), start=1):
            if key_hash < 0 or offset < begin or not 0 <= previous < number:
                return False
            if not number <= self._slot(slots, key_hash) <= entries:
                return False
        return count == 0 or int(sample[0]["physical_offset"]) == begin


class IndexedPart(NamedTuple):
    """A part of the log whose messages' keys are indexed: from a physical offset up to, not including, another."""

    start: int
    end: int


def look_up(files: Sequence[PlainFile], keys: Sequence[tuple[str, str]]) -> tuple[list[int], list[IndexedPart]]:
    """Where messages with one of some keys may be, and which parts of the log the answer covers.

    Args:
        files: The index files, as `discover` found them.
        keys: Topic and key of each. A unique key counts as one, and each word of a message's keys.

    Returns:
        Physical offsets in ascending order: of messages with one of these keys, or another one of the same hash, or
        that are no longer in the log. What is not covered has to be searched in the log; a file that cannot be read,
        or whose geometry is not known, covers nothing.
    """
    hashes = {positive_hash(f"{topic}#{key}") for topic, key in keys}
    offsets: set[int] = set()
    covered: list[IndexedPart] = []
    likely = DEFAULT
    for plain in files:
        try:
            with OpenIndexFile(plain, likely=likely) as file:
                if file.geometry is None:
                    continue
                likely = file.geometry
                for key_hash in hashes:
                    offsets.update(file.find(key_hash))
        except StoreUnreadable:
            continue
        # Other keys of the first and of the last message may stand in another file, or not be indexed yet.
        covered.append(IndexedPart(file.header.begin_offset + 1, file.header.end_offset))
    return sorted(offsets), covered
