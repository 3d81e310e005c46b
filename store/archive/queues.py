"""Consume queues read from outside: where each message of a topic's queue lies in the commit log.

Entries come as numpy arrays of `ENTRY` in native byte order. The end of a queue is found by bisection, for an entry
never written is zero; where its messages begin to be in the log, too. Both are found once, when the queue is opened:
what a live broker appends later is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.archive.directory import QueueFiles, RowFile
from rocketwire.store.archive.opening import FileGone, OpenFile
from rocketwire.store.layout.consume_queue import ENTRY as LAYOUT
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT, PRE_BLANK
from rocketwire.store.layout.derive import dtype_fields

_STORED: Final = np.dtype(dtype_fields(LAYOUT))
#: physical_offset, size, tags_code.
ENTRY: Final = _STORED.newbyteorder("=")
#: Entries read at once.
BLOCK: Final = 16 * 1024
#: The size that an entry of no message has: PRE_BLANK.
BLANK_SIZE: Final = ENTRY_STRUCT.unpack(PRE_BLANK)[1]


class Queue:
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
            StoreUnreadable: a file may not be read, or is no regular file. (One that was removed is passed over.)
        """
        self.topic = files.topic
        self.queue_id = files.queue_id
        self.path = files.path
        self._row = list(files.files)
        self._open: tuple[RowFile, OpenFile] | None = None
        while True:
            self.first = self._row[0].start // ENTRY_SIZE if self._row else 0
            stop = self._row[-1].end // ENTRY_SIZE if self._row else 0
            try:
                self.end = self.bisect(self.first, stop, _is_written)
                self.min = self._find_min(log_start)
            except FileGone as gone:
                self._drop(gone)
            else:
                break

    def _find_min(self, log_start: int) -> int:
        low = self.bisect(self.first, self.end, lambda entry: entry[0] < log_start)
        # Pre-blank entries point to 0, which is a place in a log that starts there.
        for offset, entries in self.blocks(low, self.end):
            real = np.flatnonzero(entries["size"] != BLANK_SIZE)
            if len(real):
                return offset + int(real[0])
        return self.end

    def _drop(self, gone: FileGone) -> None:
        """Go on without a file: a live broker removes the oldest ones."""
        self._row = [file for file in self._row if file.path != gone.path]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what is open; reading opens it again."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def __len__(self) -> int:
        """How many messages it has: some may be missing, where a broker filled up with blanks."""
        return self.end - self.min

    def entry(self, offset: int) -> tuple[int, int, int]:
        """Physical offset, size and tags code of an entry; zeros where nothing was ever written.

        Raises:
            FileGone: its file was removed.
            StoreUnreadable: its file cannot be read.
        """
        data = self._read(offset, 1)
        return ENTRY_STRUCT.unpack(data) if len(data) == ENTRY_SIZE else (0, 0, 0)

    def entries(self, offset: int, most: int = BLOCK) -> NDArray[Any]:
        """Entries from an offset on, as an array of ENTRY: `most` at most, none from `end` on, of one file only.

        Raises:
            FileGone: the file was removed.
            StoreUnreadable: it cannot be read.
        """
        data = self._read(offset, max(0, min(most, self.end - offset)))
        return np.frombuffer(data, _STORED, len(data) // ENTRY_SIZE).astype(ENTRY)

    def blocks(self, start: int, stop: int, most: int = BLOCK) -> Iterator[tuple[int, NDArray[Any]]]:
        """The entries from `start` up to, not including, `stop`: arrays of ENTRY, each with the offset of its first.

        Files that are not there, or cut short, are passed over.

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
        """The part of `start` to `stop` whose messages are in a range of what rises along the queue, as their times do.

        Args:
            start: Offset of the first entry looked at.
            stop: Offset behind the last one.
            since: Whether the message at a physical offset is before the range; None for a range without a begin.
            until: Whether it is before the range's end; None for a range without one.

        Raises:
            StoreUnreadable: a file cannot be read. (One that was removed is passed over.)
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

    def _read(self, offset: int, count: int) -> bytes:
        at = offset * ENTRY_SIZE
        if self._open is None or not self._open[0].start <= at < self._open[0].end:
            file = next((file for file in reversed(self._row) if file.start <= at < file.end), None)
            if file is None:
                return b""
            self.close()
            self._open = (file, OpenFile(file.path))
        file, content = self._open
        return content.read(at - file.start, min(count * ENTRY_SIZE, file.end - at))


def _is_written(entry: tuple[int, int, int]) -> bool:
    return entry[0] >= 0 and entry[1] > 0
