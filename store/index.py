"""The index: key -> records, over a row of index files, each named by the local time of its creation.

Messages are indexed after they were appended, in batches: the appender leaves what is needed in a queue, `dispatch`
takes it. `next_offset` is the place in the log up to which everything is indexed; when the queue does not begin
there (after a start, or because it was dropped to bound its memory), the missing part is read from the log. So
nothing has to be saved at a stop, and a deleted index is made again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rocketwire.store.errors import DiskFull, StoreForeign
from rocketwire.store.layout.index import file_size
from rocketwire.store.records import Scanner
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import KEY_SEP

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from rocketwire.store.checkpoint import Checkpoint
    from rocketwire.store.commit_log import CommitLog
    from rocketwire.store.files import FileSystem
    from rocketwire.store.index_file import IndexFile
    from rocketwire.store.settings import StoreSettings

#: Columns of a message in a batch: hash of `topic#`, unique key, keys, physical offset, store timestamp.
COLUMNS: Final = 5
#: Messages indexed by one step; more pending ones than the second are dropped and read from the log later.
_STEP: Final = 1024
_MOST_PENDING: Final = 1 << 16
#: The most offsets a query gives (maxMsgsNumBatch).
MOST_FOUND: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Physical offsets, newest file first, and how far the newest index file reaches."""

    offsets: list[int]
    last_timestamp: int
    last_offset: int


class Index:
    """All index files of a store. `dispatch` and `find` may run in a thread."""

    def __init__(self, settings: StoreSettings, files: FileSystem, log: CommitLog, clock: Callable[[], int]) -> None:
        self.next_offset = 0
        self._directory = settings.index
        self._slots = settings.index_slots
        self._entries = settings.index_entries
        self._files = files
        self._log = log
        self._clock = clock
        self._row: list[IndexFile] = []
        self._full: deque[IndexFile] = deque()
        self._pending: deque[tuple[int, int, list[Any]]] = deque()
        # Values that were added, dropped again, and taken: each counted by one thread only.
        self._added = self._dropped = self._taken = 0
        self._scanner = Scanner(settings.delay_levels, check_crc=False, keys=True)
        self._prefixes: dict[str, int] = {}
        self._lock = threading.Lock()

    def load(self, checkpoint: Checkpoint, *, clean: bool) -> None:
        """Find the files; after a stop that was not clean, those newer than the checkpoint are made again.

        Raises:
            StoreForeign: a file has another size.
        """
        names = self._files.names(self._directory)
        if not names:
            return
        from rocketwire.store.index_file import IndexFile  # noqa: PLC0415 - numpy takes 0.1 s of the start

        wanted = file_size(self._slots, self._entries)
        for name in names:
            path = f"{self._directory}/{name}"
            size = self._files.size(path)
            if not (name.isascii() and name.isdigit()):
                raise StoreForeign(self._directory, f"it holds {name}, whose name is not a time of 17 digits")
            if size != wanted and clean:
                raise StoreForeign(
                    self._directory,
                    f"file {name} has {size} bytes but maxHashSlotNum and maxIndexNum make it {wanted}",
                )
            if size != wanted:
                self._files.remove(path)
                continue
            file = IndexFile.load(path, self._slots, self._entries, self._files)
            if not clean and file.end_timestamp > checkpoint.index:
                file.remove()
            else:
                self._row.append(file)

    def start(self) -> None:
        """Find where to go on, once the log was recovered."""
        log = self._log
        self.next_offset = log.start
        if self._row and log.start <= self._row[-1].end_offset < log.position:
            # The newest indexed message is looked at again: a stop may have come between two of its keys.
            self.next_offset = self._row[-1].end_offset

    def add(self, start: int, end: int, columns: list[Any]) -> None:
        """Take a group of appended messages: the part of the log from `start` to `end`, COLUMNS values a message."""
        self._pending.append((start, end, columns))
        self._added += len(columns)
        if self._added - self._dropped - self._taken > _MOST_PENDING * COLUMNS:
            with contextlib.suppress(IndexError):  # the other thread may take the last ones meanwhile
                while True:
                    self._dropped += len(self._pending.popleft()[2])

    @property
    def behind(self) -> bool:
        """Whether anything is to be indexed."""
        return self.next_offset < self._log.position

    def dispatch(self) -> bool:
        """Index some messages; true when there are more.

        Raises:
            DiskFull: there is no room. The same call goes on later.
        """
        with self._lock:
            return self._dispatch()

    def _dispatch_all(self) -> None:
        # What finds no room is indexed later, from the log.
        with contextlib.suppress(DiskFull):
            while self._dispatch():
                pass

    def _dispatch(self) -> bool:
        columns: list[Any] = []
        end = self.next_offset
        while len(columns) < _STEP * COLUMNS:
            try:
                start, stop, group = self._pending.popleft()
            except IndexError:
                break
            if start > end:
                self._pending.appendleft((start, stop, group))
                break
            self._taken += len(group)
            if stop > end:
                columns += group
                end = stop
        if not columns and end < self._log.position:
            end = self._read_log(columns)
        if columns:
            self._put(columns)
        self.next_offset = max(self.next_offset, end)
        return self.behind

    def _read_log(self, columns: list[Any]) -> int:
        """Take messages from the log itself; give where the next ones are."""
        log = self._log
        end = max(self.next_offset, log.start)
        limit = log.position
        with contextlib.suppress(IndexError):
            limit = self._pending[0][0]
        while end < limit and len(columns) < _STEP * COLUMNS:
            segment = log.segments.find(end)
            record = None if segment is None else self._scanner.read(segment, end - segment.start)
            if record is None:
                end = log.next_file(end)
                continue
            prefix = self._prefixes.get(record.topic)
            if prefix is None:
                prefix = self._prefixes[record.topic] = string_hash(record.topic + "#")
            rolled_back = record.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK
            columns += (
                prefix,
                None if rolled_back else record.unique_key,
                None if rolled_back else record.keys,
                record.physical_offset,
                record.store_timestamp,
            )
            end += record.size
        return min(end, limit)

    def _put(self, columns: list[Any]) -> None:
        import numpy as np  # noqa: PLC0415 - numpy takes 0.1 s of the start

        from rocketwire.store.index_file import positive_hashes  # noqa: PLC0415 - as above

        prefixes, keys, offsets, timestamps = _flatten(columns)
        last_message = columns[-2]
        hashes = positive_hashes(prefixes, keys)
        offset_array = np.array(offsets, np.int64)
        timestamp_array = np.array(timestamps, np.int64)
        if not self._row:
            self._roll()
        done = self._already_put(offset_array)
        while done < len(keys):
            if self._row[-1].full:
                self._roll()
            done += self._row[-1].put(hashes[done:], offset_array[done:], timestamp_array[done:])
            if self._row[-1].full:
                self._full.append(self._row[-1])
        if self._row[-1].full and last_message > self._row[-1].end_offset:
            # As Apache: the next message makes the next file, whether it has keys or not.
            self._roll()

    def _already_put(self, offsets: NDArray[np.int64]) -> int:
        """How many of the keys are in the files: some are after a start, or when the disk was full in a batch."""
        last = self._row[-1].end_offset
        if not len(offsets) or offsets[0] > last:
            return 0
        before = int((offsets < last).sum())
        same = 0
        for file in reversed(self._row):
            count = file.count_at_end(last)
            same += count
            if count < file.entry_count - 1:
                break
        return min(before + same, int((offsets <= last).sum()))

    def _roll(self) -> None:
        from rocketwire.store.index_file import IndexFile  # noqa: PLC0415

        if not self._row:
            self._files.make_directory(self._directory)
        name = _name(self._clock())
        former = self._row[-1] if self._row else None
        if former is not None:
            # Files are ordered by their names alone, also when two are made in a millisecond or the clock went back.
            name = max(name, f"{int(former.path.rpartition('/')[2]) + 1:017d}")
        file = IndexFile.create(f"{self._directory}/{name}", self._slots, self._entries, self._files, former)
        self._files.sync_directory(self._directory)
        self._row.append(file)
        if former is not None:
            former.unmap()

    def find(self, topic: str, key: str, most: int, begin: int, end: int) -> Found:
        """Offsets of the records with a key (or another key of the same hash), stored between two times in ms."""
        with self._lock:
            self._dispatch_all()
            if not self._row:
                return Found(offsets=[], last_timestamp=0, last_offset=0)
            from rocketwire.store.index_file import positive_hash  # noqa: PLC0415

            key_hash = positive_hash(f"{topic}#{key}")
            most = min(most, MOST_FOUND)
            offsets: list[int] = []
            newest = self._row[-1]
            for file in reversed(self._row):
                if file.time_matches(begin, end):
                    offsets += file.select(key_hash, most - len(offsets), begin, end)
                    if file is not newest:
                        file.unmap()
                if file.begin_timestamp < begin or len(offsets) >= most:
                    break
            return Found(offsets=offsets, last_timestamp=newest.end_timestamp, last_offset=newest.end_offset)

    def flush_full(self, checkpoint: Checkpoint) -> None:
        """Put files that became full on the disk and note their time in the checkpoint. Safe in a thread."""
        while self._full:
            file = self._full[0]
            file.sync()
            checkpoint.index = file.end_timestamp
            self._full.popleft()

    def close(self) -> None:
        """Index the rest and put everything on the disk."""
        with self._lock:
            self._dispatch_all()
            for file in [*self._full, *self._row[-1:]]:
                file.sync()
            for file in self._row:
                file.unmap()


def _name(now: int) -> str:
    moment = time.localtime(now // 1000)
    return time.strftime("%Y%m%d%H%M%S", moment) + f"{now % 1000:03d}"


def _flatten(columns: list[Any]) -> tuple[list[int], list[str], list[int], list[int]]:
    """One row a key: the unique key first, then each word of the keys."""
    prefixes = columns[0::COLUMNS]
    unique = columns[1::COLUMNS]
    words = columns[2::COLUMNS]
    offsets = columns[3::COLUMNS]
    timestamps = columns[4::COLUMNS]
    if None not in unique and not any(words):
        return prefixes, unique, offsets, timestamps
    out: tuple[list[int], list[str], list[int], list[int]] = ([], [], [], [])
    for prefix, single, several, offset, timestamp in zip(prefixes, unique, words, offsets, timestamps, strict=True):
        keys = [] if single is None else [single]
        if several:
            keys += [word for word in several.split(KEY_SEP) if word]
        for key in keys:
            out[0].append(prefix)
            out[1].append(key)
            out[2].append(offset)
            out[3].append(timestamp)
    return out
