"""Reading the entries of one consume queue: single ones, runs of them, and the first of those that pass a test.

The files are mapped without read-ahead, which would read all of a file that is nearly all holes; a sequential reader
gets blocks. The content of the newest entry is kept, so that no file has to be mapped for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from rocketwire.native import QueueTail
from rocketwire.store.disk.segments import Segments
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT

_READ_AHEAD: Final = 1 << 17
_unpack = ENTRY_STRUCT.unpack_from


class QueueEntries(QueueTail):
    """The entries in a row of files. Offsets count entries."""

    __slots__ = ("_newest", "_newest_end", "_read_block", "_segments")

    def __init__(self, segments: Segments) -> None:
        super().__init__()
        self._segments = segments
        self._read_block = -1
        #: Place and size of the last record, when the queue ended at `_newest_end`.
        self._newest_end, self._newest = -1, (0, 0)

    @property
    def directory(self) -> str:
        """The directory of its files."""
        return self._segments.directory

    @property
    def first_offset(self) -> int:
        """Offset of the first entry that has a place in the files."""
        first = self._segments.first
        return first.start // ENTRY_SIZE if first is not None else self.end

    def entry(self, offset: int) -> tuple[int, int, int]:
        """Physical offset, size and tags code of an entry that has a place in the files (zeros: never written)."""
        segment = self._segments.find(offset * ENTRY_SIZE)
        if segment is None:
            return 0, 0, 0
        physical_offset, size, tags_code = _unpack(segment.view, offset * ENTRY_SIZE - segment.start)
        return physical_offset, size, tags_code

    def first_that(self, test: Callable[[tuple[int, int, int]], bool], end: int) -> int:
        """Offset of the first entry before `end` that passes a test, as all after it do; `end` if none does."""
        numbers = range(self.first_offset, end)
        return self.first_offset + bisect_left(numbers, True, key=lambda number: test(self.entry(number)))  # noqa: FBT003

    def entries(self, offset: int, most: int) -> memoryview | None:
        """The entries from `offset` on in its file, `most` at most; None when that file was removed."""
        at = offset * ENTRY_SIZE
        segment = self._segments.find(at)
        if segment is None:
            return None
        start = at - segment.start
        end = min(self.end * ENTRY_SIZE - segment.start, segment.size)
        if start < end and at // _READ_AHEAD != self._read_block:
            self._read_block = at // _READ_AHEAD
            segment.prefetch(start, min(_READ_AHEAD, end - start))
        return segment.view[start : min(start + most * ENTRY_SIZE, end)]

    def file_range(self, offset: int) -> tuple[int, int]:
        """First and last + 1 offset of the entries in the same file as `offset`."""
        per_file = self._segments.file_size // ENTRY_SIZE
        start = offset - offset % per_file
        return start, start + per_file

    def file_starts(self) -> list[int]:
        """Offset of the first entry of every file."""
        return [self._segments[i].start // ENTRY_SIZE for i in range(len(self._segments))]

    def physical_end(self) -> int:
        """Where the log's record of the last entry ends, -1 when there is none."""
        return sum(self._newest_entry()) if self.end > self.first_offset else -1

    def newest_place(self) -> int:
        """Where the log's record of the last entry begins, -1 when there is none."""
        return self._newest_entry()[0] if self.end > self.first_offset else -1

    def _newest_entry(self) -> tuple[int, int]:
        if self._newest_end != self.end:
            offset, size, _ = self.entry(self.end - 1)
            self._newest_end, self._newest = self.end, (offset, size)
        return self._newest

    def newest_changed(self) -> None:
        """Make the last entry be read again though its offset is the same."""
        self._newest_end = -1

    def last_record_before(self, physical_offset: int) -> int:
        """Physical offset of the newest message at or before a physical offset, -1 when there is none."""
        after = self.first_that(lambda entry: entry[0] > physical_offset, self.end)
        return self.entry(after - 1)[0] if after > self.first_offset else -1
