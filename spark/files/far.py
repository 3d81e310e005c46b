"""Remote files of a store, for `store.offline`: `RemoteFiles` is the file system for its `discover`.

A store is listed once, as a whole: a request for each queue's directory would take minutes. The holder of a
store's lock cannot be found there, so a store that has the file `abort` is either in use or crashed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeVar

from rocketwire.spark.files.remote import FoundFile, RemoteFile, RemoteFileSystem
from rocketwire.spark.files.schemes import connect
from rocketwire.store.disk.input_files import DirectoryEntry
from rocketwire.store.offline.read.file_system import Listing, ReadableFileSystem

#: What a request fetches for a short read (entries of a queue and heads, near which more will be read): the whole block
#: of the file, so that a bisection ends within it wherever its first step hits the block.
_BLOCK: Final = 128 << 10
#: Longer reads are of records whose size is known: nothing else is fetched with them.
_SHORT: Final = 128
#: Bytes that a request of a sequential reader fetches at least: the option `prefetchBytes`.
PREFETCH: Final = 8 << 20
#: Queues of a remote store are queried in parallel, because each answer takes a while. Requests in flight: fewer than
#: the connections that implementations keep.
AT_ONCE: Final = 16
#: Slices for each thread, so that none gets all the slow ones.
_SLICES: Final = 4
T = TypeVar("T")
R = TypeVar("R")
#: Number of file systems that a process keeps connected, for a worker's next task.
_MOST_CONNECTED: Final = 8


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """The files behind a URL of scheme and place, such as `s3://bucket`; paths are URLs below it.

    Attributes:
        base: The URL.
        options: Arguments of the scheme's implementation. Not in the repr: they may contain secrets.
        prefetch: Bytes that a request of a sequential reader fetches at least.
    """

    base: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    prefetch: int = PREFETCH

    def remote(self) -> RemoteFileSystem:
        """The connected file system; equal ones share it within this process.

        Raises:
            SparkSourceError: it is not available; the text describes what is missing.
        """
        # A process that was forked must not use its parent's connections.
        return _connected(os.getpid(), self.base, self.options)

    def listing(self, root: str) -> Listing:
        """See `FileSystem.listing`: a snapshot of everything below the root."""
        return ListingSnapshot(root, self.remote().below(root)).entries

    def open(self, path: str, until: int | None = None) -> RangeReader:
        """See `FileSystem.open`."""
        return RangeReader(path, self.remote().open(path), self.prefetch, until)

    def locked(self, path: str) -> bool:
        """See `FileSystem.locked`: it cannot be known."""
        raise OSError(errno.ENOTSUP, "there are no locks", path)


@lru_cache(_MOST_CONNECTED)
def _connected(process: int, base: str, options: tuple[tuple[str, str], ...]) -> RemoteFileSystem:  # noqa: ARG001 - a key only
    return connect(base, dict(options))


class RangeReader:
    """A remote file that is read in ranges, as `store.offline.read.file_system.ReadableFile` has it.

    The bytes of the last request are kept: a bisection ends within them, and a reader in order continues there.
    """

    def __init__(self, path: str, file: RemoteFile, prefetch: int, until: int | None = None) -> None:
        """Read an open file; a reader in order gets `prefetch` bytes a request, but none ahead from `until` on."""
        self._path = path
        self._file: RemoteFile | None = file
        self._size = file.size
        self._prefetch = prefetch
        self._until = file.size if until is None else until
        self._start = 0
        self._kept = b""

    def close(self) -> None:
        """See `ReadableFile.close`."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def size(self) -> int:
        """Size in bytes when it was opened, or found to be cut since."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """See `ReadableFile.read`."""
        if self._file is None or offset < 0:
            number = errno.EBADF if self._file is None else errno.EINVAL
            raise OSError(number, os.strerror(number), self._path)
        end = min(offset + length, self._size)
        kept_end = self._start + len(self._kept)
        if offset < end and not self._start <= offset < end <= kept_end:
            start, reach = offset, end
            if self._kept and self._start < offset <= kept_end:
                reach = max(end, min(offset + self._prefetch, self._until))
            elif end - offset <= _SHORT:
                start = offset - offset % _BLOCK
                reach = max(end, start + _BLOCK)
            self._kept = self._fetch(self._file, start, min(reach, self._size))
            self._start = start
        return self._kept[offset - self._start : end - self._start] if offset < end else b""

    def _fetch(self, file: RemoteFile, start: int, end: int) -> bytes:
        try:
            data = file.fetch(start, end - start)
        except OSError:
            # If it was removed or cut, report that instead of the failed request.
            now = file.size_now()
            if now >= end:
                raise
            data = file.fetch(start, now - start) if now > start else b""
        if len(data) < end - start:
            self._size = min(self._size, start + len(data))
        return data


class ListingSnapshot:
    """A snapshot of everything below a directory."""

    def __init__(self, root: str, found: list[FoundFile]) -> None:
        self._root = root
        self._directories: dict[str, dict[str, DirectoryEntry]] = {}
        for one in found:
            self._add(one)

    def entries(self, url: str) -> list[DirectoryEntry]:
        """The content of a directory, by name.

        Raises:
            FileNotFoundError: there is no such directory, or it is empty: object stores know no difference.
        """
        if url not in self._directories:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
        return sorted(self._directories[url].values())

    def _add(self, found: FoundFile) -> None:
        parent, _, name = found.url.rpartition("/")
        if not name or not found.url.startswith(self._root + "/"):
            return
        siblings = self._directories.get(parent)
        if siblings is None:
            siblings = self._directories[parent] = {}
            self._add(FoundFile(parent, directory=True, size=0, modified=0))
        size = 0 if found.directory else found.size
        siblings[name] = DirectoryEntry(name, found.directory, not found.directory, size, size, found.modified)


def in_slices(files: ReadableFileSystem, query: Callable[[Sequence[T]], Iterable[R]], items: Sequence[T]) -> list[R]:
    """The results of `query` for items, in order; for a remote store several threads call it, each for a few.

    Args:
        files: The file system of the items. A local one has one slice, and no thread.
        query: Returns the answers for a slice. It must not share open files.
        items: The arguments of `query`.

    Raises:
        Exception: what `query` raised first, by the order of items; the others are not started then.
    """
    if not isinstance(files, RemoteFiles) or not items[1:]:
        return [*query(items)]
    size = max(1, len(items) // (AT_ONCE * _SLICES))
    slices = [items[at : at + size] for at in range(0, len(items), size)]
    with ThreadPoolExecutor(AT_ONCE, "rocketmq-planning") as pool:
        return [answer for answers in pool.map(lambda some: [*query(some)], slices) for answer in answers]
