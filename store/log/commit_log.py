"""The commit log: all messages of all topics in one sequence, in a row of memory-mapped files.

A record never spans two files and leaves at least 8 bytes behind it for the end-of-file blank, which holds the number
of unused bytes and follows where the next record does not fit. The file after the current one is created ahead, as
Apache does, and removed again by a clean stop.

A group of records becomes visible at once: everything but the first record's size word is written first, so that a
process killed in the middle leaves a size of zero there, which reads as "never written".

The appender writes through `write`; `position` is where the next record goes, and a record that would end behind
`limit` needs `make_room` first. Everything before `flushed` is on the disk.
"""

from __future__ import annotations

import contextlib
import struct
import threading
from typing import Final

from rocketwire.native import LogTail
from rocketwire.store.disk.files import FileSystem, PageFaulter
from rocketwire.store.disk.segment import Segment, whole_pages
from rocketwire.store.disk.segments import Segments
from rocketwire.store.errors import RecordTooLarge, StoreError, StoreForeign
from rocketwire.wire.facts.record import BLANK_MAGIC, END_OF_FILE_BLANK, MAGIC_AT, MAGIC_V1, MAGIC_V2, SMALLEST_RECORD

SIZE_SETTING: Final = "mappedFileSizeCommitLog"
_REMEDY: Final = "have `rocketwire store repair` make a store of what is left"
BLANK_SIZE: Final[int] = END_OF_FILE_BLANK.sizeof()
#: Disk space is allocated this many bytes ahead of the writer ...
_WINDOW: Final = 4 << 20
#: ... and pages are faulted in by this many: less under SYNC_FLUSH, where each flush writes the faulted pages.
_PREFAULT: Final = 256 << 10
_PREFAULT_SYNC: Final = 128 << 10
#: A thread faults in so many bytes behind these meanwhile, but not under SYNC_FLUSH.
_AHEAD: Final = 2 << 20
#: Old files that stay mapped for readers.
_MOST_MAPPED: Final = 8
_SIZE_AND_MAGIC: Final = struct.Struct(">ii")
_KNOWN_MAGIC: Final = frozenset({MAGIC_V1, MAGIC_V2, BLANK_MAGIC})


class CommitLog(LogTail):
    """The log in one directory.

    Attributes:
        flushed: Everything before this offset is on the disk.
    """

    def __init__(self, directory: str, file_size: int, files: FileSystem, *, sync_flush: bool) -> None:
        super().__init__()
        self.segments = Segments(directory, file_size, files, most_mapped=_MOST_MAPPED)
        self.flushed = 0
        self._prefault = _PREFAULT_SYNC if sync_flush else _PREFAULT
        self._current: Segment | None = None
        self._ahead: Segment | None = None
        self._flushing = threading.Lock()
        self._helper = None if sync_flush else files.page_faulter()

    def load(self) -> None:
        """Find the files. Recovery finds the end of the log (`resume`).

        Raises:
            StoreForeign: a file has another size, a wrong name, or does not begin as a commit log does.
        """
        segments = self.segments
        segments.load(SIZE_SETTING, remedy=_REMEDY)
        first = segments.first
        if first is not None:
            found = segments.find(first.start)
            assert found is not None  # noqa: S101 - it is the first file
            head = bytes(found.view[: MAGIC_AT + 4])
            magic = int.from_bytes(head[MAGIC_AT:], signed=True)
            if any(head) and magic not in _KNOWN_MAGIC:
                raise StoreForeign(
                    segments.directory, f"file {first.path} begins with the unknown magic {magic & 0xFFFFFFFF:08X}"
                )

    @property
    def start(self) -> int:
        """Physical offset of the oldest file; 0 for an empty log."""
        first = self.segments.first
        return first.start if first is not None else 0

    def resume(self, end: int, *, flushed: int, clear: bool) -> None:
        """Continue at `end`: files after it are removed, and with `clear` what follows it in its file is zeroed."""
        self._stop_helper()
        self.segments.truncate(end, clear=clear)
        self.position = self.limit = end
        self.flushed = min(flushed, end)
        self._current = self._ahead = self.buffer = None
        last = self.segments.last
        if last is not None and end < last.end:
            self._enter(last)

    def _enter(self, segment: Segment) -> None:
        """Make a file the one being written; the next `make_room` reserves room in it."""
        self.segments.pin(segment)
        self.buffer = segment.mapping
        self.base = segment.start
        self._current = segment
        if not segment.reserved:
            segment.reserved = self.position - segment.start
        self.limit = self.position

    def make_room(self, size: int) -> None:
        """Have room for a record of `size` bytes at `position`, which may move to the next file.

        Raises:
            RecordTooLarge: no file takes such a record.
            DiskFull: there is no room. The same call may succeed later.
            StoreGone: the file that is written is not there.
        """
        most = self.segments.file_size - BLANK_SIZE
        if size > most:
            raise RecordTooLarge(size, most)
        current = self._current
        self.check_exists()
        if current is not None and self.position + size + BLANK_SIZE > current.end:
            self._close_current(current)
            current = None
        if current is None:
            current = self._next_segment()
        at = self.position - current.start
        self._reserve(current, at, at + size + BLANK_SIZE)
        # The limit is the end of what is faulted in, so that this is called again for the next part of the window.
        ready = min(current.reserved, whole_pages(max(at + size + BLANK_SIZE, at + self._prefault)))
        if self._helper is not None:
            self._request_more(self._helper, current, at, ready)
        current.populate(at, ready - at)
        self.limit = current.start + ready - BLANK_SIZE

    def check_exists(self) -> None:
        """Check that the newest file with messages still has its name. Safe in a thread.

        Raises:
            StoreGone: it was removed or moved away, or replaced.
        """
        segment = self._current or self.segments.find_unmapped(self.position - 1)
        if segment is not None:
            segment.check_exists()

    def _request_more(self, helper: PageFaulter, current: Segment, at: int, ready: int) -> None:
        """Have the helper fault in what follows `ready`; what is before belongs to the writer from now on."""
        with contextlib.suppress(StoreError, OSError):  # reported when the file is needed
            self._reserve(current, at, min(ready + _AHEAD, current.size))
        if ready < current.size:
            helper.populate(current.mapping, current.path, ready, min(ready + _AHEAD, current.reserved) - ready)
        else:
            helper.stop()

    @staticmethod
    def _reserve(current: Segment, at: int, upto: int) -> None:
        before = current.reserved
        current.reserve(upto, _WINDOW)
        if current.reserved > before:
            current.disable_read_ahead_from(at)

    def _stop_helper(self) -> None:
        if self._helper is not None:
            self._helper.stop()

    def _close_current(self, current: Segment) -> None:
        """End the file with the blank; its 8 bytes were reserved with the record before it, or are now."""
        at = self.position - current.start
        current.reserve(at + BLANK_SIZE, 0)
        current.mapping[at : at + BLANK_SIZE] = END_OF_FILE_BLANK.build(
            {"size": current.size - at, "magic": BLANK_MAGIC}
        )
        self.position = self.limit = current.end
        self._current = self.buffer = None
        self._stop_helper()
        # Readers may still want it, but the writer does not.
        self.segments.unpin(current)

    def _next_segment(self) -> Segment:
        if self._ahead is None:
            self._ahead = self.segments.append(self.position)
        elif not self._ahead.exists:
            self._ahead.create()  # nothing is in it yet
        segment = self._ahead
        self._enter(segment)  # if that fails, the file is still the next one
        self._ahead = None
        self._create_ahead(segment)
        return segment

    def _create_ahead(self, segment: Segment) -> None:
        # If that fails, it is tried again when the file is needed.
        with contextlib.suppress(StoreError, OSError):
            self._ahead = self.segments.append(segment.end)

    def write(self, data: bytes) -> None:
        """Put whole records at `position`, after `make_room`."""
        current = self._current
        assert current is not None  # noqa: S101 - make_room entered a file
        at = self.position - current.start
        mapping = current.mapping
        mapping[at + 4 : at + len(data)] = memoryview(data)[4:]
        mapping[at : at + 4] = data[:4]
        self.position += len(data)

    def read(self, offset: int, size: int) -> memoryview | None:
        """Bytes of the log; None when they are not all there, in one file."""
        if size <= 0 or offset < 0 or offset + size > self.position:
            return None
        segment = self.segments.find(offset)
        if segment is None or offset + size > segment.end:
            return None
        at = offset - segment.start
        return segment.view[at : at + size]

    def record_at(self, physical_offset: int, size: int | None = None) -> memoryview | None:
        """The record at a place in the log; None when none can begin there: see StoreReader."""
        segment = self.segments.find(physical_offset)
        if segment is None:
            return None
        written = min(self.position, segment.end)
        if physical_offset + BLANK_SIZE > written:
            return None
        view = segment.view
        at = physical_offset - segment.start
        own, magic = _SIZE_AND_MAGIC.unpack_from(view, at)
        if own < SMALLEST_RECORD or magic not in (MAGIC_V1, MAGIC_V2):
            return None
        if size is None:
            size = own
        return view[at : at + size] if 0 < size <= written - physical_offset else None

    def next_file(self, offset: int) -> int:
        """Start of the file after the one that holds an offset."""
        size = self.segments.file_size
        return offset + size - offset % size

    def flush_to(self, offset: int) -> None:
        """Return once everything before `offset` (or more) is on the disk. Safe in a thread."""
        with self._flushing:
            if self.flushed >= offset:
                return
            target = self.position
            self.segments.sync_directory()
            at = self.flushed
            while at < target:
                segment = self.segments.find_unmapped(at)
                if segment is None:
                    at = self.next_file(at)
                    continue
                segment.sync(keep_open=target < segment.end)
                at = segment.end
            self.flushed = target

    def settle(self, start: int, *, rewrite: bool) -> None:
        """Flush what recovery found from `start` on, and what it cut off, which must not come back.

        Args:
            start: Physical offset up to which the log is on the disk.
            rewrite: Write all pages again: after a failed sync they may be marked clean without being on the disk.

        Raises:
            OSError: the disk reported an error.
        """
        with self._flushing:
            segments = self.segments
            segments.directory_unsynced = len(segments) > 0
            segments.sync_directory()
            for number in range(len(segments)):
                segment = segments[number]
                if segment.end > start:
                    if rewrite:
                        segment.rewrite(min(segment.size, self.position - segment.start))
                    segment.sync()
            self.flushed = self.position

    def close(self) -> None:
        """Remove the file created ahead and forget the mappings. Everything was flushed before."""
        if self._ahead is not None:
            self.segments.remove_last()
            self._ahead = None
        self._current = self.buffer = None
        self._stop_helper()
        self.limit = self.position
        self.segments.unmap_all()
