"""One consume queue: entry n holds the physical offset of message n of a topic's queue (layout.consume_queue).

The queue can always be rebuilt from the log, so nothing here waits for the disk. An entry that was never written is
zero, which is how the end of a queue is found. What a truncation cuts off is zeroed too, so that no stale entry looks
like a new one after the next start (Apache leaves them).

The appender writes entries itself, for speed: it packs at `position` of `buffer` while `position < limit`, then moves
`position` and `end`; `extend` gives it more room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.segments import Segments
from rocketwire.store.errors import StoreGone
from rocketwire.store.layout.consume_queue import AHEAD, ENTRY_SIZE, ENTRY_STRUCT, PRE_BLANK
from rocketwire.store.queues.queue_entries import QueueEntries
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2, MAX_TOPIC_LENGTH_V1, TOPIC_LENGTH_FORMATS
from rocketwire.wire.java import string_hash, to_int32

SIZE_SETTING: Final = "mappedFileSizeConsumeQueue"
_REMEDY: Final = "move all files out of this folder: the queue is made again from the commit log"
#: Disk space is allocated by this many bytes: few, as there may be thousands of queues, and a page is written twice ...
_WINDOW: Final = 4 * 4096
#: ... and by twice as many each time that a queue has filled them, up to this many.
_MOST_WINDOW: Final = 32 * 4096
#: The file being written and the one being read.
_MOST_MAPPED: Final = 2
#: Entries that fill a gap are written so many at once.
_MOST_FILLED: Final = 1 << 16
_PLACE_SIZE: Final = 8  # an entry begins with it


class ConsumeQueue(QueueEntries):
    """Queue `queue_id` of a topic. Offsets count entries.

    The magic number of its records is version 2's only for a topic too long for version 1, as 5.x writes it.

    Attributes:
        key: Topic and queue id.
        delay: Delay in ms of the level this queue holds, for queues of the schedule topic, else None.
    """

    __slots__ = ("_cut_unsynced", "_flushed", "_log_start", "_uncertain", "_window", "delay", "key")

    def __init__(
        self,
        key: tuple[str, int],
        directory: str,
        file_size: int,
        files: FileSystem,
        *,
        delay: int | None,
        on_map: Callable[[ConsumeQueue], None],
    ) -> None:
        topic_directory = directory.rpartition("/")[0]
        parents = (topic_directory.rpartition("/")[0], topic_directory)
        segments = Segments(
            directory,
            file_size,
            files,
            most_mapped=_MOST_MAPPED,
            parents=parents,
            scattered=True,
            on_map=lambda: on_map(self),
        )
        super().__init__(segments)
        topic = key[0].encode()
        self.key = key
        self.queue_id = to_int32(key[1])  # a directory may have any number for a name
        self.magic = MAGIC_V1 if len(topic) <= MAX_TOPIC_LENGTH_V1 else MAGIC_V2
        self.topic_field = TOPIC_LENGTH_FORMATS[self.magic].pack(len(topic)) + topic
        self.index_prefix_hash = string_hash(key[0] + "#")
        self.delay = delay
        self._flushed = 0
        #: The start of the log that `min` belongs to.
        self._log_start = -1
        self._cut_unsynced = self._uncertain = False
        self._window = _WINDOW

    def load(self, *, log_start: int, clean: bool) -> None:
        """Find the files, the end, and after a clean stop the first message that is in a log that starts there.

        After a crash, pages of the files may be missing, so there may be entries behind the end that is found. The
        first truncation removes them, whatever else it cuts.

        Raises:
            StoreForeign: a file does not belong there.
        """
        self._segments.load(SIZE_SETTING, remedy=_REMEDY)
        self._segments.directory_unsynced = self._uncertain = not clean
        self.min = self.first_offset
        last = self._segments.last
        if last is None:
            return
        self.end = self._flushed = self.first_that(lambda entry: entry[0] < 0 or entry[1] <= 0, last.end // ENTRY_SIZE)
        # Files behind the end are empty.
        self._segments.truncate(self.end * ENTRY_SIZE, clear=False)
        self.physical_end()
        if clean:
            self.correct_min(log_start)

    def extend(self, entries: int = 1) -> None:
        """Make room for the appender's next entries, as far as the file goes: map, allocate, create the next file.

        Raises:
            DiskFull: there is no room.
            StoreGone: the queue's file is not there.
        """
        segments = self._segments
        at = self.end * ENTRY_SIZE
        segment = segments.last
        if segment is not None:
            segment.check_exists()
        if segment is None:
            segment = segments.append(at - at % segments.file_size, AHEAD)
        elif at == segment.end:
            segments.unmap_all()
            segment = segments.append(at, AHEAD)
        start = at - segment.start
        if not segment.reserved:
            segment.reserved = start
        if self.limit and self.position >= self.limit:
            self._window = min(2 * self._window, _MOST_WINDOW)
        segment.reserve(min(start + entries * ENTRY_SIZE, segment.size), self._window)
        segments.pin(segment)
        segment.populate(start, segment.reserved - start)
        self.buffer = segment.mapping
        self.position = start
        self.limit = segment.reserved - segment.reserved % ENTRY_SIZE

    def ensure_mapped(self) -> None:
        """Check that the file being written exists; if not, the next append checks again before it writes.

        Raises:
            StoreGone: it is not.
        """
        segment = self._segments.last
        if segment is not None and segment.is_mapped:
            try:
                segment.check_exists()
            except StoreGone:
                self.limit = 0
                raise

    def place(self, offset: int) -> int | None:
        """Physical offset of the message at a queue offset; None when the queue has none there."""
        if not self.min <= offset < self.end:
            return None
        at = self.position - (self.end - offset) * ENTRY_SIZE
        if self.limit and at >= 0:  # in the file that is being written
            return int.from_bytes(self.buffer[at : at + _PLACE_SIZE])
        entries = self.entries(offset, 1)
        return None if entries is None else int.from_bytes(entries[:_PLACE_SIZE])

    def put(self, physical_offset: int, size: int, tags_code: int) -> None:
        """Append an entry.

        Raises:
            DiskFull: there is no room.
        """
        if self.position >= self.limit:
            self.extend()
        ENTRY_STRUCT.pack_into(self.buffer, self.position, physical_offset, size, tags_code)
        self.position += ENTRY_SIZE
        self.end += 1

    def put_many(self, entries: memoryview) -> None:
        """Append whole entries in the form they have in a file.

        Raises:
            DiskFull: there is no room; those before are appended.
        """
        while entries:
            if self.position >= self.limit:
                self.extend(len(entries) // ENTRY_SIZE)
            length = min(len(entries), self.limit - self.position)
            self.buffer[self.position : self.position + length] = entries[:length]
            self.position += length
            self.end += length // ENTRY_SIZE
            entries = entries[length:]

    def put_at(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Make an entry the newest one at `offset`, as recovery reads it from the log.

        An empty queue starts there, with PRE_BLANK entries before it in the file. Entries from `offset` on are of a
        former life of the topic and are cut off. Missing ones before it, whose messages are not in the log, are filled
        with the new entry: a reader there gets this message twice. (After an entry that points to no record a broker
        skips all entries of the same commit log file.)

        Raises:
            DiskFull: there is no room.
        """
        self._log_start = -1
        if offset < self.end:
            self._cut(max(offset, self.first_offset))
        if self._segments.first is None:
            self.end, _ = self.file_range(offset)
            self.min = offset
        filling = PRE_BLANK
        if self.end > self.first_offset:
            filling = ENTRY_STRUCT.pack(physical_offset, size, tags_code)
        while self.end < offset:
            self.put_many(memoryview(filling * min(offset - self.end, _MOST_FILLED)))
        self.put(physical_offset, size, tags_code)

    def truncate(self, physical_offset: int) -> bool:
        """Cut off the entries of messages at or after a physical offset; true when the files have changed."""
        if not self._uncertain and (self.newest_place() < physical_offset):
            return False
        self._cut(self.first_that(lambda entry: entry[0] >= physical_offset or entry[1] <= 0, self.end))
        self._uncertain = False
        return True

    def _cut(self, end: int) -> None:
        self.unmap()
        at = end * ENTRY_SIZE
        self._segments.truncate(at, clear=True)
        first = self._segments.first
        if first is not None and at <= first.start:
            self._segments.remove_last()
        self.end = end
        self.newest_changed()
        self._log_start = -1
        self._flushed = min(self._flushed, end)
        self._cut_unsynced = True
        self.min = min(self.min, end)

    def correct_min(self, log_start: int) -> None:
        """Set `min` to the first entry whose message is at or after the start of the log."""
        if log_start == self._log_start:
            return  # all newer entries are of messages behind it
        # Pre-blank entries, the first of all, point to 0, which is a place in a log that starts there.
        blank = ENTRY_STRUCT.unpack(PRE_BLANK)
        self.min = self.first_that(lambda entry: entry[0] >= log_start and entry != blank, self.end)
        self._log_start = log_start

    def remove_expired_file(self) -> bool:
        """Remove the oldest file if all its entries are before `min` and it is not the newest; true if removed."""
        first = self._segments.first
        if first is None or len(self._segments) == 1 or first.end > self.min * ENTRY_SIZE:
            return False
        self._segments.remove_first()
        return True

    @property
    def dirty_bytes(self) -> int:
        """Bytes written since the last flush."""
        return (self.end - self._flushed) * ENTRY_SIZE

    def flush(self, done: set[str]) -> None:
        """Flush what was written. Safe in a thread.

        Args:
            done: Directories that were synced since the queue's first entry; those above this queue are added.
        """
        end = self.end
        if end == self._flushed and not self._cut_unsynced:
            return
        if self._segments.directory_unsynced:
            self._segments.sync_directory(done)
            done.update(self._segments.parents)
        at = self._flushed * ENTRY_SIZE
        for segment in self._segments:
            if segment.end > at and segment.start < end * ENTRY_SIZE:
                segment.sync()
        self._flushed = max(self._flushed, end)
        self._cut_unsynced = False  # only recovery cuts, never during a flush

    def unmap(self) -> None:
        """Drop the mappings; the next append or read maps the files again."""
        self.buffer = bytearray()
        self.position = self.limit = 0
        self._window = _WINDOW
        self._segments.unmap_all()

    def remove(self) -> None:
        """Remove all its files, the oldest first.

        Raises:
            OSError: a file cannot be removed; the queue keeps it and those after it.
        """
        self.unmap()
        while self._segments.first is not None:
            self._segments.remove_first()
            self.min = max(self.min, self.first_offset)
