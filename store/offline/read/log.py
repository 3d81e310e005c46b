"""Reading the commit log with pread.

`LogFileReader.blocks` reads a whole file in blocks of some MiB, each with the columns of its records;
`CommitLogReader.read` reads single records. Memory is bounded by the block, or by one record that is larger than a
block.

While a broker is writing, UNWRITTEN is the present end of the log. A record that is just being copied into the file
may be read half: a caller that gets DAMAGED at the end of such a log reads again a little later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rocketwire.store.offline.read.directory import RowFile
from rocketwire.store.offline.read.heads import LARGEST_HEAD, head_store_time, promised_size
from rocketwire.store.offline.read.opening import Closable, FileGone, OpenFile
from rocketwire.store.records.columns import NO_RECORDS, RecordColumns
from rocketwire.store.records.lost_pages import PAGE
from rocketwire.store.records.walk import WalkEnd, walk

BLOCK: Final = 4 << 20
_MOST_OPEN: Final = 8
_NO_BLANK: Final = "the file ends without a blank record"
#: Bytes between two places that cost less to read than a second call.
_NEAR: Final = 32 << 10


class RecordBlock(NamedTuple):
    """Records that follow each other in one file.

    `records` has positions in `buffer`, whose first byte is at the physical offset `base`. `next` is the physical
    offset behind the last of them, where `stop` and `reason` describe what follows: FULL and MORE mean that there is
    another block.
    """

    buffer: bytes
    base: int
    records: RecordColumns
    next: int
    stop: WalkEnd
    reason: str

    def record(self, number: int) -> bytes:
        """The bytes of a record."""
        at = int(self.records.position[number])
        return self.buffer[at : at + int(self.records.size[number])]


class RecordPlace(NamedTuple):
    """Where a record is, and the entry of the queue (a number that the caller chose) that points to it."""

    physical_offset: int
    size: int
    queue_offset: int = -1
    queue: int = -1

    @property
    def end(self) -> int:
        """Physical offset of the first byte after it."""
        return self.physical_offset + self.size


class LogFileReader(Closable):
    """One commit log file, open for reading; close it, or use it as a context."""

    def __init__(self, row_file: RowFile, until: int | None = None) -> None:
        """Open the file.

        Args:
            row_file: The file.
            until: The physical offset at which a reader in order will stop; None for the file's end.

        Raises:
            FileGone: it was removed.
            StoreUnreadable: it may not be read, or is not a regular file.
        """
        self.path = row_file.path
        self.start = row_file.start
        self.size = row_file.size
        stop = None if until is None else until - row_file.start
        self._file = OpenFile(row_file.path, row_file.files, stop)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def end(self) -> int:
        """Physical offset of the first byte after the file."""
        return self.start + self.size

    def read(self, offset: int, length: int) -> bytes:
        """Bytes from a physical offset on; fewer only where the file ends.

        Raises:
            StoreUnreadable: a read failed.
        """
        return self._file.read(offset - self.start, max(0, min(length, self.start + self.size - offset)))

    def blocks(self, offset: int | None = None, *, check_crc: bool = True, block: int = BLOCK) -> Iterator[RecordBlock]:
        """The records from a physical offset (of a record; None for the file's first) to where the file's content ends.

        BLANK, UNWRITTEN or DAMAGED of the last block is the reason why it is the last. Every block counts, also one
        without records.

        Raises:
            StoreUnreadable: a read failed.
        """
        at = 0 if offset is None else offset - self.start
        wanted = block
        while True:
            base = at - at % PAGE  # `walk` needs buffers that begin at a page
            buffer = self.read(self.start + base, at - base + wanted)
            # Short where the file was cut.
            whole = base + len(buffer) >= self.size or len(buffer) < at - base + wanted
            position = at - base
            if position >= len(buffer):
                stop, reason = (WalkEnd.UNWRITTEN, "") if at == 0 else (WalkEnd.DAMAGED, _NO_BLANK)
                yield RecordBlock(buffer, self.start + base, NO_RECORDS, self.start + at, stop, reason)
                return
            stop = WalkEnd.FULL
            while stop is WalkEnd.FULL:
                walked = walk(buffer, base=self.start + base, position=position, whole=whole, check_crc=check_crc)
                records, position, stop, reason = walked
                reached = self.start + base + position
                if stop is WalkEnd.MORE and base + position == at:
                    # Not even one: the buffer grows only if its head is valid.
                    size = promised_size(buffer, position, reached)
                    if size is None and len(buffer) - position >= LARGEST_HEAD:
                        stop, reason = WalkEnd.DAMAGED, "its lengths do not fit together"
                    wanted = max(wanted, size or 0) + PAGE
                yield RecordBlock(buffer, self.start + base, records, reached, stop, reason)
            if stop is not WalkEnd.MORE:
                return
            if base + position != at:
                wanted = block
            at = base + position

    def first_store_time(self) -> int | None:
        """Store time in ms of the file's first record; None if it has no valid one.

        Raises:
            StoreUnreadable: a read failed.
        """
        buffer = self.read(self.start, PAGE)
        return head_store_time(buffer, self.start)


class CommitLogReader(Closable):
    """Single places of the whole commit log. A few files are kept open; close it, or use it as a context."""

    def __init__(self, files: Sequence[RowFile]) -> None:
        self.files = files
        self._starts = [file.start for file in files]
        self._open: OrderedDict[int, LogFileReader] = OrderedDict()

    def close(self) -> None:
        """Close the files."""
        while self._open:
            self._open.popitem()[1].close()

    def file_of(self, offset: int) -> RowFile | None:
        """The file that holds a physical offset; None when there is none."""
        number = bisect_right(self._starts, offset) - 1
        return self.files[number] if number >= 0 and offset < self.files[number].end else None

    def opened(self, file: RowFile) -> LogFileReader:
        """A file; the ones used last stay open.

        Raises:
            FileGone: it was removed.
            StoreUnreadable: it may not be read, or is not a regular file.
        """
        found = self._open.pop(file.start, None) or LogFileReader(file)
        self._open[file.start] = found
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return found

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of one file from a physical offset on; fewer, or none, where the log has no more.

        Raises:
            FileGone: the file was removed.
            StoreUnreadable: it cannot be read.
        """
        file = self.file_of(offset)
        return b"" if file is None else self.opened(file).read(offset, length)

    def record(self, offset: int) -> bytes | None:
        """The record at a physical offset, of which only the head is checked; None when none can begin there.

        Raises:
            FileGone: the file was removed.
            StoreUnreadable: it cannot be read.
        """
        data = self.read(offset, PAGE)
        size = promised_size(data, 0, offset)
        if size is None:
            return None
        if size > len(data):
            data = self.read(offset, size)
        return data[:size] if size <= len(data) else None

    def gather(self, places: Iterable[RecordPlace]) -> Iterator[tuple[RecordPlace, bytes]]:
        """The bytes of places, one after the other; those near each other are read at once.

        A place outside the log, in a file removed meanwhile, or with a larger size than its head has gives fewer bytes
        than its size, or none.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        group: list[RecordPlace] = []
        for place in places:
            if group and not (
                group[-1].physical_offset <= place.physical_offset <= group[-1].end + _NEAR
                # The last one may be of a damaged entry, with any size.
                and max(group[-1].end, place.end) - group[0].physical_offset <= BLOCK
            ):
                yield from self._together(group)
                group = []
            group.append(place)
        yield from self._together(group)

    def _together(self, group: list[RecordPlace]) -> Iterator[tuple[RecordPlace, bytes]]:
        while group:
            first = group[0].physical_offset
            file = self.file_of(first)
            # The next file needs a separate read.
            here = [place for place in group if file is None or place.physical_offset < file.end]
            try:
                data = self._read_together(first, max(place.end for place in here) - first)
            except FileGone:
                data = b""
            for place in here:
                at = place.physical_offset - first
                yield place, data[at : at + place.size]
            group = group[len(here) :]

    def _read_together(self, offset: int, length: int) -> bytes:
        if length > BLOCK:
            # One place, given by a queue's entry, which may be damaged.
            head = self.read(offset, LARGEST_HEAD)
            if promised_size(head, 0, offset) != length:
                return head
        return self.read(offset, length)

    def store_time(self, offset: int) -> int | None:
        """Store time in ms of the record at a physical offset; None if there is no valid one.

        Raises:
            StoreUnreadable: the file cannot be read.
        """
        try:
            return head_store_time(self.read(offset, LARGEST_HEAD), offset)
        except FileGone:
            return None
