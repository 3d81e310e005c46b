"""One pre-allocated file of a row, named by the offset of its first byte and memory-mapped only while it is used.

A mapping is dropped by forgetting it: views of it (a pull's answer on its way to a socket) keep it alive until they are
dropped, so a file can be unmapped or removed under a reader at any time. The same holds for the descriptor that is kept
between flushes of the commit log: a flush that runs in a thread meanwhile keeps it alive.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from typing import Final

from rocketwire.store.disk.files import NO_ROOM, FileSystem, missing_path_error
from rocketwire.store.disk.foreign import OFFSET_DIGITS
from rocketwire.store.errors import DiskFull, StoreGone, StoreUnreadable

#: Ranges of so many bytes of a scattered file are not read page by page, which takes 20 times as long.
_TOGETHER: Final = 1 << 18


def file_name(offset: int) -> str:
    """Name of the file that starts at an offset."""
    return f"{offset:0{OFFSET_DIGITS}d}"


def whole_pages(length: int) -> int:
    """A length rounded up to pages."""
    return length + -length % mmap.PAGESIZE


class _Descriptor:
    """A descriptor that is closed when the last user forgets it."""

    __slots__ = ("_files", "fd")

    def __init__(self, path: str, files: FileSystem) -> None:
        self.fd = -1
        self._files = files
        self.fd = files.open(path)

    def __del__(self) -> None:
        if self.fd >= 0:
            self._files.close(self.fd)


class Segment:
    """A file of fixed size at `path`, holding the bytes from `start` of its row.

    `reserved` is the length of the prefix that is known to be allocated on the disk. The pages of a `scattered` one are
    read one by one: most of it may be holes, or reads are random.
    """

    __slots__ = (
        "_files",
        "_identity",
        "_kept",
        "_mapping",
        "_removed",
        "_scattered",
        "_view",
        "path",
        "reserved",
        "size",
        "start",
    )

    def __init__(self, path: str, start: int, size: int, files: FileSystem, *, scattered: bool) -> None:
        self.path = path
        self.start = start
        self.size = size
        self.reserved = 0
        self._files = files
        self._scattered = scattered
        self._identity: tuple[int, int] | None = None
        self._removed = False
        self._kept: _Descriptor | None = None
        self._mapping: mmap.mmap | None = None
        self._view: memoryview | None = None

    @property
    def end(self) -> int:
        """Offset of the first byte after the file."""
        return self.start + self.size

    @property
    def is_mapped(self) -> bool:
        """Whether this object holds the mapping."""
        return self._mapping is not None

    @property
    def keeps_descriptor(self) -> bool:
        """Whether a descriptor is kept for the next flush."""
        return self._kept is not None

    @property
    def mapping(self) -> mmap.mmap:
        """The mapping, made at first use.

        Raises:
            StoreGone: the file is not there.
            StoreUnreadable: it cannot be opened or mapped.
        """
        if self._mapping is None:
            try:
                with self._opened() as fd:
                    self._mapping = self._files.map(fd, self.size, scattered=self._scattered)
                    self._identity = self._files.identity(fd)
            except OSError as error:
                raise StoreUnreadable(self.path, error.strerror or str(error)) from error
        return self._mapping

    @property
    def view(self) -> memoryview:
        """The mapping as a view; slices of it are what readers get."""
        if self._view is None:
            self._view = memoryview(self.mapping)
        return self._view

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        # Opened by name for each use: no descriptor is shared with the thread that flushes.
        try:
            fd = self._files.open(self.path)
        except FileNotFoundError as error:
            raise missing_path_error(self.path, self._files) from error
        try:
            yield fd
        finally:
            self._files.close(fd)

    @property
    def exists(self) -> bool:
        """Whether there is a file of this name."""
        return self._files.identity(self.path) is not None

    def check_exists(self) -> None:
        """Check that the file still has its name: what is written to a removed file is lost with the process.

        Raises:
            StoreGone: it was removed or moved away, or another file than the mapped one has its name.
        """
        found = self._files.identity(self.path)
        if found is None:
            raise missing_path_error(self.path, self._files)
        if self._identity is not None and found != self._identity:
            raise StoreGone(self.path, replaced=True)

    def create(self, head: bytes = b"") -> None:
        """Make the file, sparse and in full size; it begins with `head`.

        Raises:
            DiskFull: there is no room for another file.
            StoreGone: its folder is not there.
        """
        try:
            self._files.close(self._files.create(self.path, self.size, head))
        except FileNotFoundError as error:
            raise missing_path_error(self.path.rpartition("/")[0], self._files) from error
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            self._files.remove(self.path)
            raise DiskFull(self.path, error.strerror or str(error)) from error

    def reserve(self, upto: int, window: int) -> None:
        """Allocate disk space for the first `upto` bytes, if possible a whole `window` at a time.

        Whole pages are reserved: a file system with smaller blocks might else have no space for the rest of the last
        page when it is touched.

        Raises:
            DiskFull: there is no room for `upto` bytes; nothing changed.
        """
        if upto <= self.reserved:
            return
        wanted = self._whole_pages(max(upto, self.reserved + window))
        upto = self._whole_pages(upto)
        with self._opened() as fd:
            try:
                self._reserve(fd, wanted)
            except DiskFull:
                if wanted == upto:
                    raise
                self._reserve(fd, upto)

    def _whole_pages(self, length: int) -> int:
        return min(whole_pages(length), self.size)

    def _reserve(self, fd: int, length: int) -> None:
        self._reserve_at(fd, self.reserved, length - self.reserved)
        self.reserved = length

    def _reserve_at(self, fd: int, start: int, length: int) -> None:
        try:
            self._files.reserve(fd, start, length)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise DiskFull(self.path, error.strerror or str(error)) from error

    def reserve_range(self, start: int, length: int) -> None:
        """Allocate disk space for a range, whatever it holds; `reserved` does not change.

        Raises:
            DiskFull: there is none; nothing changed.
        """
        with self._opened() as fd:
            self._reserve_at(fd, start, length)

    def populate(self, start: int, length: int) -> None:
        """Make sure that a reserved range, in which nothing was written yet, can be written through the mapping.

        Raises:
            DiskFull: the file system gave no page in spite of the reservation.
        """
        try:
            if not self._populate(start, length):
                with self._opened() as fd:
                    self._files.write_at(fd, bytes(length), start)
        except OSError as error:
            raise DiskFull(self.path, f"a page was refused ({error.strerror or error})") from error

    def populate_written(self, start: int, length: int) -> None:
        """As `populate`, for a range that may hold something; does nothing where the kernel cannot.

        Raises:
            DiskFull: the file system gave no page in spite of the reservation.
        """
        try:
            self._populate(start, length)
        except OSError as error:
            raise DiskFull(self.path, f"a page was refused ({error.strerror or error})") from error

    def _populate(self, start: int, length: int) -> bool:
        mapping = self.mapping
        together = self._scattered and length >= _TOGETHER
        if together:
            mapping.madvise(mmap.MADV_NORMAL)
        try:
            return self._files.populate(mapping, start, length)
        finally:
            if together:
                mapping.madvise(mmap.MADV_RANDOM)

    def prefetch(self, start: int, length: int) -> None:
        """Start reading a range that is wanted soon into the page cache, for a scattered file."""
        at = start - start % mmap.PAGESIZE
        with contextlib.suppress(OSError):
            self.mapping.madvise(mmap.MADV_WILLNEED, at, start + length - at)

    def disable_read_ahead_from(self, start: int) -> None:
        """Turn off read-ahead for pages that begin at or after `start`, and on for those before.

        A page that is faulted in for writing is read first: then the kernel would read, and zero, megabytes of the
        unwritten rest at once.
        """
        at = self._whole_pages(start)
        if at:
            self.mapping.madvise(mmap.MADV_NORMAL, 0, at)
        if at < self.size:
            self.mapping.madvise(mmap.MADV_RANDOM, at, self.size - at)

    def clear_from(self, position: int) -> None:
        """Zero everything from a position of the file on."""
        with self._opened() as fd:
            self._files.clear(fd, position, self.size - position)

    def rewrite(self, length: int) -> None:
        """Write the first bytes again unchanged, so that the next sync writes all of them."""
        with self._opened() as fd:
            self._files.rewrite(fd, 0, length)

    def sync(self, *, keep_open: bool = False) -> None:
        """Return once everything written to the file is on the disk; does nothing after `remove`.

        With `keep_open` the next call, until `unmap`, needs no new descriptor. Safe in a thread.

        Raises:
            OSError: the disk reported an error.
            StoreGone: the file was removed or moved away by another process.
        """
        descriptor = self._kept
        try:
            self.check_exists()
            descriptor = descriptor or _Descriptor(self.path, self._files)
        except FileNotFoundError as error:  # just now
            if self._removed:
                return
            raise missing_path_error(self.path, self._files) from error
        except StoreGone:
            if self._removed:
                return
            raise
        self._kept = descriptor if keep_open else None
        self._files.sync(descriptor.fd)

    def unmap(self) -> None:
        """Forget the mapping and the descriptor; views handed out stay valid."""
        self._kept = None
        self._view = None
        self._mapping = None

    def remove(self) -> None:
        """Remove the file; views handed out stay valid."""
        self._removed = True
        self.unmap()
        self._files.remove(self.path)
