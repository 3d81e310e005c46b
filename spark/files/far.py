"""Remote files of a store, for `store.offline`: `RemoteFiles` is the file system for its `discover`.

A store is listed once, as a whole: a request for each queue's directory would take minutes. The holder of a
store's lock cannot be found there, so a store that has the file `abort` is either in use or crashed.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from rocketwire.spark.files.idle import BorrowedFile, IdleFiles
from rocketwire.spark.files.read_ahead import ReadAhead
from rocketwire.spark.files.remote import FoundFile, RemoteFileSystem
from rocketwire.spark.files.schemes import connect
from rocketwire.store.disk.input_files import DirectoryEntry
from rocketwire.store.offline.read.file_system import Listing

#: Bytes prefetched for a sequential reader: the option `prefetchBytes`.
PREFETCH: Final = 8 << 20
#: Number of file systems that a process keeps connected, for a worker's next task.
_MOST_CONNECTED: Final = 8


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """The files behind a URL of scheme and place, such as `s3://bucket`; paths are URLs below it.

    Attributes:
        base: The URL.
        options: Arguments of the scheme's implementation. Not in the repr: they may contain secrets.
        prefetch: Bytes that are prefetched.
    """

    base: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    prefetch: int = PREFETCH
    _idle: IdleFiles = field(default_factory=IdleFiles, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[RemoteFiles], tuple[str, tuple[tuple[str, str], ...], int]]:
        """Pickled without its caches."""
        return RemoteFiles, (self.base, self.options, self.prefetch)

    def remote(self) -> RemoteFileSystem:
        """The connected file system; equal ones share it within this process.

        Raises:
            SparkSourceError: it is not available; the text says what is missing.
        """
        # A process that was forked must not use its parent's connections.
        return _connected(os.getpid(), self.base, self.options)

    def listing(self, root: str) -> Listing:
        """See `FileSystem.listing`: a snapshot of everything below the root; files are opened again after it."""
        self._idle.clear()
        return ListingSnapshot(root, self.remote().below(root)).entries

    def open(self, path: str) -> BorrowedFile:
        """See `FileSystem.open`: as it was the last time, until the next listing."""
        file = self._idle.borrow(path) or ReadAhead(path, self.remote().open(path), self.prefetch)
        return BorrowedFile(file, self._idle)

    def locked(self, path: str) -> bool:
        """See `FileSystem.locked`: it cannot be known."""
        raise OSError(errno.ENOTSUP, "there are no locks", path)


@lru_cache(_MOST_CONNECTED)
def _connected(process: int, base: str, options: tuple[tuple[str, str], ...]) -> RemoteFileSystem:  # noqa: ARG001 - a key only
    return connect(base, dict(options))


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
