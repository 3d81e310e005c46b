"""The key index of a store: a row of index files, each named by the local time of its creation.

Messages are indexed after they are appended, in batches: `dispatch` takes them from the backlog. The files themselves
show how far they reach, so a deleted index is rebuilt. A clean stop only notes in the newest file that the messages
behind its last entry have no keys, else each start would read all of them again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocketwire.store.disk.files import store_error_for
from rocketwire.store.disk.foreign import TIME_DIGITS, store_names
from rocketwire.store.errors import DiskFull, StoreForeign, StoreGone, StoreNotWritable, StoreUnreadable
from rocketwire.store.index.index_backlog import READ, IndexBacklog
from rocketwire.store.index.index_file import IndexFile
from rocketwire.store.index.key_column import positive_hash
from rocketwire.store.layout.index import file_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocketwire.store.disk.files import FileSystem
    from rocketwire.store.index.key_column import KeyRows, PythonKeyColumn
    from rocketwire.store.log.checkpoint import Checkpoint
    from rocketwire.store.log.commit_log import CommitLog
    from rocketwire.store.settings import StoreSettings

#: The most offsets a query returns (maxMsgsNumBatch).
MAX_MATCHES: Final = 64
_OBSTACLES: Final = (DiskFull, StoreGone, StoreNotWritable, StoreUnreadable)
#: So many keys take 0.7 ms, longer than starting and joining a thread.
_MUCH: Final = 1 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexMatches:
    """Physical offsets, newest file first, and how far the newest index file reaches."""

    offsets: list[int]
    last_timestamp: int
    last_offset: int


class KeyIndex:
    """All index files of a store. `dispatch` and `find` may run in a thread."""

    def __init__(self, settings: StoreSettings, files: FileSystem, log: CommitLog, clock: Callable[[], int]) -> None:
        self._directory = settings.index
        self._slots = settings.index_slots
        self._entries = settings.index_entries
        self._files = files
        self._log = log
        self._clock = clock
        self._row: list[IndexFile] = []
        self._full: deque[IndexFile] = deque()
        self._backlog = IndexBacklog(log)
        #: Physical offset and store timestamp of the last message that is indexed.
        self._done = (0, 0)
        self._removed = False
        self._lock = threading.Lock()

    def load(self, checkpoint: Checkpoint, *, clean: bool) -> None:
        """Find the files; after a crash those that the checkpoint does not prove are made again.

        Raises:
            StoreForeign: a file has another size.
        """
        names = store_names(self._directory, self._files.names(self._directory), TIME_DIGITS)
        wanted = file_size(self._slots, self._entries)
        for name in names:
            path = f"{self._directory}/{name}"
            size = self._files.size(path)
            if size != wanted and clean:
                raise StoreForeign(
                    self._directory,
                    f"file {name} has {size} bytes but maxHashSlotNum and maxIndexNum make it {wanted}",
                )
            if size != wanted:
                self._files.remove(path)
                self._removed = True
                continue
            file = IndexFile.load(path, self._slots, self._entries, self._files)
            if clean or self._proven(file, checkpoint):
                self._row.append(file)
            else:
                file.remove()
                self._removed = True

    def _proven(self, file: IndexFile, checkpoint: Checkpoint) -> bool:
        """Whether the checkpoint proves that a file is on the disk: it was full, and so were all before it.

        Its last time alone is no proof: a file whose header never reached the disk has none, and another may have been
        begun and filled in the millisecond in which the proven one ended.
        """
        if self._removed or not file.is_full or (self._row and self._row[-1].end_timestamp >= checkpoint.index):
            return False
        return file.begin_timestamp < checkpoint.index >= file.end_timestamp

    def start(self, checkpoint: Checkpoint) -> None:
        """Find where to continue, after the log was recovered. Files that reach beyond the log are made again.

        Raises:
            OSError: the checkpoint could not be written.
        """
        while self._row and self._row[-1].end_offset >= self._log.position:
            self._row.pop().remove()
            self._removed = True
        if self._removed:
            # Else a power cut could bring them back, when other messages are at those physical offsets.
            self._files.sync_directory(self._directory)
        proven = max((file.end_timestamp for file in self._row if file.is_full), default=0)
        if checkpoint.index > proven:
            # Else it would prove the files that replace the removed ones.
            checkpoint.index = proven
            checkpoint.save()
        start = self._log.start
        if self._row and start <= self._row[-1].end_offset < self._log.position:
            # The newest indexed message is checked again: the stop may have been between two of its keys.
            start = self._row[-1].end_offset
        self._backlog.next_offset = start

    @property
    def keys(self) -> PythonKeyColumn:
        """Gets the keys of appended messages, in the order of the log."""
        return self._backlog.keys

    @property
    def bytes_behind(self) -> int:
        """Bytes of the log that are not indexed yet."""
        return self._backlog.bytes_behind

    @property
    def suits_thread(self) -> bool:
        """Whether the next step takes long, and releases the interpreter lock meanwhile.

        To make the first file takes 15 ms.
        """
        if not self._row and self._backlog.behind:
            return True
        return self._backlog.keys.pending >= _MUCH and not self._backlog.reads_log

    def dispatch(self, most: int = READ) -> bool:
        """Index some messages, as many of those that are read from the log; true when there are more.

        Raises:
            DiskFull: there is no room. The same call continues later.
            StoreNotWritable: a file could not be made or opened. The same call continues later.
        """
        with self._lock:
            return self._dispatch(most)

    def catch_up(self, steps: int) -> None:
        """Index messages, at most `steps` steps of `dispatch`; the next `dispatch` raises errors."""
        with self._lock, contextlib.suppress(*_OBSTACLES):
            for _ in range(steps):
                if not self._dispatch(READ):
                    return

    def _dispatch(self, most: int) -> bool:
        try:
            keys, end = self._backlog.take(most)
            if keys is not None:
                self._put(keys)
        except OSError as error:
            raise store_error_for(error, self._directory, self._files) from error
        self._backlog.next_offset = max(self._backlog.next_offset, end)
        return self._backlog.behind

    def _put(self, keys: KeyRows) -> None:
        hashes, offsets, timestamps = keys[:3]
        if not self._row:
            self._roll()
        done = self._already_put(offsets)
        while done < len(hashes):
            if self._row[-1].is_full:
                self._roll()
            done += self._row[-1].put(hashes[done:], offsets[done:], timestamps[done:])
            if self._row[-1].is_full:
                self._full.append(self._row[-1])
        if self._row[-1].is_full and keys.last_offset > self._row[-1].end_offset:
            # As with Apache, the next message makes the next file, whether it has keys or not.
            self._roll()
        self._done = (keys.last_offset, keys.last_timestamp)

    def _already_put(self, offsets: memoryview) -> int:
        """How many of the keys are in the files already, after a start or when the disk was full within a batch."""
        last = self._row[-1].end_offset
        if not len(offsets) or offsets[0] > last:
            return 0
        before = bisect_left(offsets, last)
        same = 0
        for file in reversed(self._row):
            count = file.count_at_end(last)
            same += count
            if count < file.entry_count - 1:
                break
        return min(before + same, bisect_right(offsets, last))

    def _roll(self) -> None:
        if not self._row:
            self._files.make_directory(self._directory, within=self._directory.rpartition("/")[0])
        name = _name(self._clock())
        former = self._row[-1] if self._row else None
        if former is not None:
            # Files are ordered by their names alone, also when two are made in a millisecond or the clock went back.
            name = max(name, f"{int(former.path.rpartition('/')[2]) + 1:017d}")
        file = IndexFile.create(f"{self._directory}/{name}", self._slots, self._entries, self._files, former)
        try:
            self._files.sync_directory(self._directory)
        except OSError:
            file.remove()
            raise
        self._row.append(file)
        if former is not None:
            former.unmap()

    def find(self, topic: str, key: str, most: int, begin: int, end: int) -> IndexMatches:
        """Offsets of the records with a key (or another key of the same hash), stored between two times in ms.

        Only what is indexed is found: see `catch_up`.
        """
        with self._lock:
            if not self._row:
                return IndexMatches(offsets=[], last_timestamp=0, last_offset=0)
            key_hash = positive_hash(f"{topic}#{key}")
            most = min(most, MAX_MATCHES)
            offsets: list[int] = []
            newest = self._row[-1]
            for file in reversed(self._row):
                if file.time_matches(begin, end):
                    offsets += file.select(key_hash, most - len(offsets), begin, end)
                    if file is not newest:
                        file.unmap()
                if file.begin_timestamp < begin or len(offsets) >= most:
                    break
            return IndexMatches(offsets=offsets, last_timestamp=newest.end_timestamp, last_offset=newest.end_offset)

    def detach_before(self, offset: int) -> list[IndexFile]:
        """Forget the files whose last message is before an offset of the log, but not the newest: to be removed."""
        with self._lock:
            count = 0
            while count < len(self._row) - 1 and self._row[count].end_offset < offset:
                count += 1
            taken, self._row = self._row[:count], self._row[count:]
            for file in taken:
                file.unmap()
            return taken

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
            # What does not fit on the disk is indexed from the log by the next start.
            with contextlib.suppress(*_OBSTACLES):
                while self._dispatch(READ):
                    pass
            if self._row:
                self._row[-1].extend_header_to(*self._done)
            for file in [*self._full, *self._row[-1:]]:
                file.sync()
            for file in self._row:
                file.unmap()


def _name(now: int) -> str:
    moment = time.localtime(now // 1000)
    return time.strftime("%Y%m%d%H%M%S", moment) + f"{now % 1000:03d}"
