"""File systems that refuse, for the store's fault tests."""

from __future__ import annotations

import errno
import os

from rocketwire.store.errors import SyncFailed
from rocketwire.store.files import RealFileSystem


def refusal(code: int) -> OSError:
    return OSError(code, os.strerror(code))


class LimitedDisk(RealFileSystem):
    """A disk with room for so many more reserved bytes and new files; `None` is no limit."""

    def __init__(self) -> None:
        self.room: int | None = None
        self.files_left: int | None = None
        self.refused = 0

    def create(self, path: str, size: int) -> int:
        if self.files_left is not None:
            if self.files_left <= 0:
                self.refused += 1
                raise refusal(errno.ENOSPC)
            self.files_left -= 1
        return super().create(path, size)

    def reserve(self, fd: int, offset: int, length: int) -> None:
        if self.room is not None:
            if length > self.room:
                self.refused += 1
                raise refusal(errno.ENOSPC)
            self.room -= length
        super().reserve(fd, offset, length)


class FailingSync(RealFileSystem):
    """A disk that refuses the flush number `fail_at` (counted from 1) and those after it until `healed`."""

    def __init__(self) -> None:
        self.fail = False
        self.syncs = 0

    def sync(self, fd: int) -> None:
        self.syncs += 1
        if self.fail:
            raise SyncFailed(errno.EIO, os.strerror(errno.EIO))
        super().sync(fd)

    def sync_directory(self, path: str) -> None:
        if self.fail:
            raise SyncFailed(errno.EIO, os.strerror(errno.EIO))
        super().sync_directory(path)


class NoDescriptors(RealFileSystem):
    """Has no descriptor for another file while `out`; those that are open stay usable."""

    def __init__(self) -> None:
        self.out = False
        self.opened = 0

    def open(self, path: str) -> int:
        if self.out:
            raise refusal(errno.EMFILE)
        self.opened += 1
        return super().open(path)

    def sync_directory(self, path: str) -> None:
        if self.out:
            raise refusal(errno.EMFILE)
        super().sync_directory(path)
