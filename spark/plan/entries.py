"""Reads the entries of one consume queue between two queue offsets, without searching the queue's ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.spark.plan.partitions import QueueRange
from rocketwire.store.layout.consume_queue import ENTRY_SIZE
from rocketwire.store.offline.read.directory import RowFile
from rocketwire.store.offline.read.entry_files import ENTRY, EntryFiles, entries_in
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE

#: Entries read at once when the next one that points to a message is searched.
_RUN: Final = 16 * 1024


class Entries(EntryFiles):
    """Entries of a queue. A removed file counts as having none."""

    def __init__(self, queue: QueueRange) -> None:
        super().__init__(queue.files)

    def written(self, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[Any], int]:
        """The entries from `first` up to, not including, `end` that point to messages.

        Returns:
            Their queue offsets; the entries, of ENTRY; how many of those requested are missing: nothing is written
            there, or their file was removed or cut. (Entries that were filled in for no message are not among them.)

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        offsets, found, missing = [np.empty(0, np.int64)], [np.empty(0, ENTRY)], end - first
        for file in self._row:
            start, stop = max(first * ENTRY_SIZE, file.start), min(end * ENTRY_SIZE, file.end)
            if start >= stop:
                continue
            entries = entries_in(self._read_in(file, start, stop - start))
            numbers = np.arange(start // ENTRY_SIZE, start // ENTRY_SIZE + len(entries))
            there = (entries["size"] > 0) & (entries["physical_offset"] >= 0)
            missing -= int(np.count_nonzero(there))
            there &= entries["size"] != BLANK_SIZE
            offsets.append(numbers[there])
            found.append(entries[there])
        return np.concatenate(offsets), np.concatenate(found), missing

    def message(self, low: int, high: int) -> int | None:
        """The physical offset of the first entry from `low` up to `high` that points to a message; None if none does.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        for start in range(low, high, _RUN):
            place, size, _ = self.entry(start)
            if place >= 0 and 0 < size < BLANK_SIZE:
                return place
            # Damage, or a blank in a queue's middle: both are rare.
            _, entries, _ = self.written(start, min(start + _RUN, high))
            if len(entries):
                return int(entries["physical_offset"][0])
        return None

    def bisect(self, low: int, high: int, is_before: Callable[[int], bool]) -> int:
        """The first offset of those from `low` to `high` whose message's place is not before a mark; else `high`.

        An entry that points to no message counts as the next one that does.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        while low < high:
            middle = (low + high) // 2
            place = self.message(middle, high)
            if place is not None and is_before(place):
                low = middle + 1
            else:
                high = middle
        return low

    def _read_in(self, file: RowFile, at: int, length: int) -> bytes:
        try:
            return super()._read_in(file, at, length)
        except FileGone:
            return b""


def range_of(queue: QueueRange, first: int, end: int) -> QueueRange:
    """A part of a queue's range, with the files that it needs."""
    files = tuple(file for file in queue.files if file.start < end * ENTRY_SIZE and file.end > first * ENTRY_SIZE)
    return queue._replace(first=first, end=end, files=files)
