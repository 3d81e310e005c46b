"""Files opened read-only, for tools that read a store a broker may be writing to.

A file is opened for reading, a directory is listed, and the store's lock is tested without taking it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import Final, NamedTuple, Self

from rocketwire.store.disk.files import FLOCK

#: Without O_NONBLOCK the opening of a named pipe waits for a writer.
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class InputFile:
    """A regular file opened for reading only, which a broker may write, truncate and remove meanwhile.

    It is never mapped: truncating a file under a mapping kills the process (SIGBUS).
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: str) -> None:
        """Open the file.

        Raises:
            OSError: there is none, it may not be read, or it is not a regular file.
        """
        self._fd = -1
        self.path = path
        fd = os.open(path, _READ)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        self._fd = fd

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def size(self) -> int:
        """Size in bytes, now."""
        return os.fstat(self._fd).st_size

    def read(self, offset: int, length: int) -> bytes:
        """Bytes from an offset on; fewer than `length` only where the file ends."""
        data = os.pread(self._fd, length, offset)
        while len(data) < length:
            more = os.pread(self._fd, length - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data


class DirectoryEntry(NamedTuple):
    """An entry of a directory; `size` and `allocated` (on the disk) are in bytes, `modified` in ms.

    For a directory these three are 0: there may be very many, and they are not needed.
    """

    name: str
    directory: bool
    regular: bool
    size: int
    allocated: int
    modified: int


def entries(path: str) -> list[DirectoryEntry]:
    """The entries of a directory, by name, without those that vanish meanwhile.

    Raises:
        OSError: it does not exist, may not be read, or is no directory.
    """
    found: list[DirectoryEntry] = []
    with os.scandir(path) as listing:
        for item in listing:
            try:
                directory = item.is_dir()
                status = None if directory else item.stat()
            except FileNotFoundError:
                continue
            if status is None:
                found.append(DirectoryEntry(item.name, directory, regular=False, size=0, allocated=0, modified=0))
            else:
                allocated, modified = status.st_blocks * 512, status.st_mtime_ns // 1_000_000
                regular = stat.S_ISREG(status.st_mode)
                found.append(DirectoryEntry(item.name, directory, regular, status.st_size, allocated, modified))
    return sorted(found)


def locked_by_another(path: str) -> bool:
    """Whether another process holds the lock that `FileSystem.lock` takes; tested without taking it.

    Raises:
        OSError: the file may not be read.
    """
    try:
        fd = os.open(path, _READ)
    except FileNotFoundError:
        return False
    try:
        request = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        kind, *_ = FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_OFD_GETLK, request))
    finally:
        os.close(fd)
    return bool(kind != fcntl.F_UNLCK)
