"""The known queues of one store: the ends of each, and its last entry, as rows of one buffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import compress, islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.spark.stores.tail_rows import ROW, ROW_STRUCT, follow_rows
from rocketwire.store.archive.read.queues import Queue
from rocketwire.store.disk.input_files import KeptFiles, opened_once
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT

QueueKey = tuple[str, int]
_WITHOUT: Final = -1


class TailsNow:
    """The ends of some queues at one moment."""

    def __init__(self, numbers: Mapping[QueueKey, int], rows: bytes) -> None:
        """Take the number of each queue's row, in the order of the rows."""
        self._numbers = numbers
        self._table: NDArray[Any] = np.frombuffer(rows, ROW)
        self._places: NDArray[np.int64] = self._table["last"]["physical_offset"].astype(np.int64)

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @cached_property
    def ends(self) -> dict[QueueKey, tuple[int, int]]:
        """Of each queue the offset behind its last entry, and the physical offset in that."""
        return dict(self._pairs(self._table["end"], self._places))

    def newest(self, count: int) -> list[int]:
        """The largest physical offsets in last entries, so many at most, the largest first."""
        return np.sort(self._places)[: -count - 1 : -1].tolist()  # type: ignore[no-any-return]

    def newest_queue(self) -> tuple[QueueKey, int, int] | None:
        """The queue whose last entry points farthest into the log, its end, and that physical offset."""
        if not self._numbers:
            return None
        number = int(self._places.argmax())
        key = next(islice(self._numbers, number, None))
        return key, int(self._table["end"][number]), int(self._places[number])

    def bounds(self, before: int) -> dict[QueueKey, tuple[int, int]]:
        """`min` and `end` of those queues, as those of `Queue`, whose last message begins before a physical offset."""
        found = self._pairs(self._table["min"], self._table["end"])
        good = self._places < before
        return dict(found) if good.all() else dict(compress(found, good.tolist()))

    def _pairs(self, *columns: NDArray[Any]) -> Iterator[tuple[QueueKey, tuple[int, int]]]:
        return zip(self._numbers, zip(*(column.tolist() for column in columns), strict=True), strict=True)


class Tails:
    """Known queues, which `follow` brings up to date."""

    def __init__(self, files: KeptFiles) -> None:
        """Know none yet; `files` has their open files."""
        self._files = files
        self._rows = bytearray()
        self._paths: list[str] = []
        self._numbers: dict[QueueKey, int] = {}

    def forget(self) -> None:
        """Know none any more."""
        self._files.close(self._paths)
        self._rows = bytearray()
        self._paths = []
        self._numbers = {}

    def add(self, key: QueueKey, queue: Queue, path: str, at: int, room: int) -> None:
        """Know an open queue, whose last entry is at a position of its last file, of so many bytes.

        Raises:
            OSError: the file cannot be opened.
            FileGone: it was removed.
            StoreUnreadable: it cannot be read.
        """
        last = ENTRY_STRUCT.pack(*queue.entry(queue.end - 1))
        row = ROW_STRUCT.pack(at, room, queue.min, queue.end, self._files.keep(path), last)
        number = self._numbers.setdefault(key, len(self._paths))
        self._rows[number * ROW.itemsize : (number + 1) * ROW.itemsize] = row
        self._paths[number : number + 1] = [path]

    def follow(self) -> bool:
        """Bring all up to date; whether that was possible: no file is gone, full, or has other entries."""
        return follow_rows(self._rows) and all(map(self._follow_closed, self._closed()))

    def now(self) -> TailsNow:
        """The ends as they are known; later changes do not change it."""
        return TailsNow(self._numbers.copy(), bytes(self._rows))

    def _closed(self) -> Iterator[int]:
        """The numbers of the rows whose files do not stay open."""
        return iter(np.flatnonzero(np.frombuffer(bytes(self._rows), ROW)["fd"] == _WITHOUT).tolist())

    def _follow_closed(self, number: int) -> bool:
        row = self._rows[number * ROW.itemsize : (number + 1) * ROW.itemsize]
        try:
            with opened_once(self._paths[number]) as fd:
                _with_file(row, fd)
                found = follow_rows(row)
        except OSError:
            return False
        _with_file(row, _WITHOUT)
        self._rows[number * ROW.itemsize : (number + 1) * ROW.itemsize] = row
        return found


def _with_file(row: bytearray, fd: int) -> None:
    np.frombuffer(row, ROW)["fd"] = fd
