"""A cache of recently closed remote files: opening one again finds its blocks, without a request.

Planning reads the same consume queues repeatedly, by bisection.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from rocketwire.spark.files.read_ahead import ReadAhead

#: Bytes of blocks, of all idle files together, and how many files.
_MOST_BYTES: Final = 32 << 20
_MOST_FILES: Final = 256


class IdleFiles:
    """Idle files of one file system by path, those closed last at the end. Threads may share it, but no file in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[str, ReadAhead] = OrderedDict()
        self._bytes = 0

    def borrow(self, path: str) -> ReadAhead | None:
        """Take an idle file, which then belongs to the caller; None without one."""
        with self._lock:
            file = self._files.pop(path, None)
            if file is not None:
                self._bytes -= file.held
            return file

    def give_back(self, file: ReadAhead) -> None:
        """Keep a file for its next opening, if there is room and it never failed; else close it."""
        if file.failed:
            file.close()
            return
        file.rest()
        with self._lock:
            dropped = [file for file in (self._files.pop(file.path, None),) if file is not None]
            self._bytes += file.held - sum(former.held for former in dropped)
            self._files[file.path] = file
            while self._bytes > _MOST_BYTES or len(self._files) > _MOST_FILES:
                dropped.append(self._drop())
        for former in dropped:
            former.close()

    def clear(self) -> None:
        """Close all idle files: later opens request them again."""
        with self._lock:
            dropped = [*self._files.values()]
            self._files.clear()
            self._bytes = 0
        for file in dropped:
            file.close()

    def _drop(self) -> ReadAhead:
        _, file = self._files.popitem(last=False)
        self._bytes -= file.held
        return file


class BorrowedFile:
    """A remote file until it is closed; then it is idle. As `store.offline.read.file_system.ReadableFile` has it."""

    def __init__(self, file: ReadAhead, owner: IdleFiles) -> None:
        self._lent: ReadAhead | None = file
        self._owner = owner
        self._path = file.path

    def close(self) -> None:
        """See `ReadableFile.close`."""
        if self._lent is not None:
            file, self._lent = self._lent, None
            self._owner.give_back(file)

    def size(self) -> int:
        """See `ReadableFile.size`."""
        return self._file().size()

    def read(self, offset: int, length: int) -> bytes:
        """See `ReadableFile.read`."""
        return self._file().read(offset, length)

    def read_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """See `ReadableFile.read_into`."""
        return self._file().read_into(offset, buffer)

    def expect(self, ranges: Iterable[tuple[int, int]]) -> None:
        """See `ReadableFile.expect`."""
        self._file().expect(ranges)

    def _file(self) -> ReadAhead:
        if self._lent is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self._path)
        return self._lent
