"""Reading consume queues: the physical offset of each message of a topic's queue.

Entries are numpy arrays of `entry_files.ENTRY`. The end of a queue is found by bisection, because an entry that was
never written is zero; so is the first entry whose message is still in the log. Both are found once, when the queue is
opened: what a broker appends later is not seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT, PRE_BLANK
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory
from rocketwire.store.offline.read.entry_files import ENTRY, EntryFiles, entries_in
from rocketwire.store.offline.read.opening import FileGone

#: Entries read at once.
BLOCK: Final = 16 * 1024
#: So many entries are read at once rather than searched by single reads: those of a page.
_NEAR: Final = 4096 // ENTRY_SIZE + 1
#: So many entries behind the end are checked, for holes: four pages.
_BEHIND: Final = 4 * 4096 // ENTRY_SIZE
#: The size that an entry of no message has: PRE_BLANK.
BLANK_SIZE: Final = ENTRY_STRUCT.unpack(PRE_BLANK)[1]


class QueueReader(EntryFiles):
    """One consume queue, open for reading; close it, or use it as a context.

    Attributes:
        topic, queue_id: Which queue it is.
        path: Its directory.
        first: Offset of the first entry that has a place in the files.
        min: Offset of the first entry whose message is in the log, which begins at `log_start`; `end` if there is none.
        end: Offset behind the last entry that was written when the queue was opened.
    """

    def __init__(self, files: QueueFiles, *, log_start: int = 0) -> None:
        """Open the queue and find its ends.

        Raises:
            StoreUnreadable: a file may not be read, or is not a regular file. (One that was removed is skipped.)
        """
        super().__init__(files.files)
        self.topic = files.topic
        self.queue_id = files.queue_id
        self.path = files.path
        while True:
            self.first = self._row[0].start // ENTRY_SIZE if self._row else 0
            stop = self._row[-1].end // ENTRY_SIZE if self._row else 0
            try:
                self.end = self._find_end(self._last_written(), stop)
                self.min = self._find_min(log_start)
            except FileGone as gone:
                self._drop(gone)
            else:
                break

    def _last_written(self) -> int:
        """Offset of the first entry of the last file that has one: a hole in a file before is not the queue's end."""
        for file in reversed(self._row[1:]):
            start = file.start // ENTRY_SIZE
            if _is_written(self.entry(start)) or _last_of(self._read(start, _BEHIND)):
                return start
        return self.first

    def _find_end(self, low: int, high: int) -> int:
        """By bisection. It may hit the hole of a page that a crash lost, so the entries behind are checked too."""
        while True:
            end, behind = self._find_unwritten(low, high)
            last = _last_of(behind)
            low = end + last if last else self._last_on_disk(end, end + len(behind) // ENTRY_SIZE)
            if low == end:
                return end

    def _find_unwritten(self, low: int, high: int) -> tuple[int, bytes]:
        """An offset whose entry is not written, though the one before it is; and some entries from there on.

        The last steps are in one block, for there may be very many queues to open.
        """
        # Files are sparse: what has no blocks on the disk was most likely never written. That saves many reads.
        on_disk = (self._row[-1].start + self._row[-1].allocated) // ENTRY_SIZE if self._row else high
        for guess in (on_disk - _NEAR, on_disk) if on_disk < high else ():
            if low <= guess < high:
                low, high = self._narrowed(low, high, guess)
        while high - low > _NEAR:
            low, high = self._narrowed(low, high, (low + high) // 2)
        data = self._read(low, high - low + _BEHIND)
        count = min(len(data) // ENTRY_SIZE, high - low)
        written = bisect_left(
            range(count), 1, key=lambda number: not _is_written(ENTRY_STRUCT.unpack_from(data, number * ENTRY_SIZE))
        )
        if written < count or count == high - low:
            return low + written, data[written * ENTRY_SIZE :]
        # The block ends where its file does.
        return self.bisect(low + written, high, _is_written), b""

    def _narrowed(self, low: int, high: int, middle: int) -> tuple[int, int]:
        return (middle + 1, high) if _is_written(self.entry(middle)) else (low, middle)

    def _last_on_disk(self, end: int, start: int) -> int:
        """Behind the last entry from `start` on that is written where its file has a place on the disk; else `end`."""
        file = next((file for file in self._row if file.start <= end * ENTRY_SIZE < file.end), None)
        if file is None or file.allocated >= file.size:
            return end
        stop = (file.start + file.allocated) // ENTRY_SIZE
        for at in range(start, stop, BLOCK):
            last = _last_of(self._read(at, min(BLOCK, stop - at)))
            if last:
                return at + last
        return end

    def _find_min(self, log_start: int) -> int:
        low = self.first
        found = self.entry(low)
        if found[0] < log_start:
            # A hole has no information about the messages before it.
            low = self.bisect(low, self.end, lambda entry: _is_written(entry) and entry[0] < log_start)
            found = self.entry(low)
        if found[1] != BLANK_SIZE:
            return low
        # Pre-blank entries point to 0, which is a place in a log that starts there.
        for offset, entries in self.blocks(low, self.end):
            real = np.flatnonzero(entries["size"] != BLANK_SIZE)
            if len(real):
                return offset + int(real[0])
        return self.end

    def _drop(self, gone: FileGone) -> None:
        """Continue without a file: a live broker removes the oldest ones."""
        self._row = [file for file in self._row if file.path != gone.path]

    def __len__(self) -> int:
        """How many messages it has: some may be missing, where a broker filled up with blanks."""
        return self.end - self.min

    def entries(self, offset: int, most: int = BLOCK) -> NDArray[Any]:
        """Entries from an offset on, as an array of ENTRY: `most` at most, none from `end` on, of one file only.

        Raises:
            FileGone: the file was removed.
            StoreUnreadable: it cannot be read.
        """
        return entries_in(self._read(offset, max(0, min(most, self.end - offset))))

    def blocks(self, start: int, stop: int, most: int = BLOCK) -> Iterator[tuple[int, NDArray[Any]]]:
        """The entries from `start` up to, not including, `stop`: arrays of ENTRY, each with the offset of its first.

        Files that are not there, or cut short, are skipped.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        at = max(start, self.first)
        while at < min(stop, self.end):
            try:
                found = self.entries(at, min(most, stop - at))
            except FileGone:
                found = np.empty(0, ENTRY)
            if len(found):
                yield at, found
                at += len(found)
            else:
                later = [file.start // ENTRY_SIZE for file in self._row if file.start > at * ENTRY_SIZE]
                at = min(later, default=self.end)

    def bisect(self, low: int, high: int, is_before: Callable[[tuple[int, int, int]], bool]) -> int:
        """The first offset of those from `low` to `high` whose entry is not before a mark; `high` if all are.

        Raises:
            FileGone: a file was removed.
            StoreUnreadable: a file cannot be read.
        """
        while low < high:
            middle = (low + high) // 2
            if is_before(self.entry(middle)):
                low = middle + 1
            else:
                high = middle
        return low

    def within(
        self, start: int, stop: int, since: Callable[[int], bool] | None, until: Callable[[int], bool] | None
    ) -> tuple[int, int]:
        """The part of `start` to `stop` whose messages are in a range of a value that rises along the queue, as time.

        Args:
            start: Offset of the first entry read.
            stop: Offset behind the last one.
            since: Whether the message at a physical offset is before the range; None for a range without a begin.
            until: Whether it is before the range's end; None for a range without one.

        Raises:
            StoreUnreadable: a file cannot be read. (One that was removed is skipped.)
        """
        while True:
            first, end = max(start, self.min), min(stop, self.end)
            try:
                if since is not None:
                    first = self.bisect(first, end, lambda entry: since(entry[0]))
                if until is not None:
                    end = self.bisect(first, end, lambda entry: until(entry[0]))
            except FileGone as gone:
                self._drop(gone)
                self.first = self._row[0].start // ENTRY_SIZE if self._row else self.end
                self.min = max(self.min, self.first)
            else:
                return first, end

    def physical_end(self) -> int:
        """Where the log's record of the last entry ends; 0 for an empty queue.

        Raises:
            FileGone: a file was removed.
            StoreUnreadable: a file cannot be read.
        """
        if self.end == self.min:
            return 0
        offset, size, _ = self.entry(self.end - 1)
        return offset + size


def open_queues(directory: StoreDirectory, wanted: Callable[[str], bool] = lambda _: True) -> Iterator[QueueReader]:
    """Each queue that has files, of the topics wanted, by topic and number; it is open until the next.

    Raises:
        StoreUnreadable: a file cannot be read. (One that was removed is skipped.)
    """
    for files in directory.queues:
        if files.files and wanted(files.topic):
            with QueueReader(files, log_start=directory.start) as queue:
                yield queue


def _is_written(entry: tuple[int, int, int]) -> bool:
    return entry[0] >= 0 and entry[1] > 0


def _last_of(data: bytes) -> int:
    """Behind which of these entries none is written; 0 if none of them is."""
    if data == bytes(len(data)):
        return 0
    entries = entries_in(data)
    written = np.flatnonzero((entries["size"] > 0) & (entries["physical_offset"] >= 0))
    return int(written[-1]) + 1 if len(written) else 0
