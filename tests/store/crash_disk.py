"""A file system that refuses any one of its operations, and knows at each of them what a crash would leave.

It works on a real directory, so mappings are real ones, and keeps beside it what would be durable (disk_cache).
Nothing is really synced: that costs time and proves nothing here. Every operation that changes the disk, or that could
fail, is a numbered step; so is a store into a mapping by assignment, which is how the commit log writes. Stores by
other means lie between two steps.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import SyncFailed
from tests.store.disk_cache import CachedDirectory, CachedFile, Node, found_below
from tests.store.disk_images import DirectoryImage


def refusal(code: int) -> OSError:
    return OSError(code, os.strerror(code))


class Step(NamedTuple):
    """A step, before or after it is taken: its number, what it does, and by which functions it was reached."""

    number: int
    name: str
    path: str
    way: tuple[str, ...]

    @property
    def before(self) -> bool:
        return bool(self.way)


#: What may be refused, and how. `short` writes half before it fails with a full disk.
SHORT = -1
REFUSALS: dict[str, tuple[int, ...]] = {
    "make_directory": (errno.ENOSPC,),
    "create": (errno.ENOSPC, errno.EMFILE),
    "resize": (errno.EFBIG,),
    "open": (errno.EMFILE,),
    "map": (errno.ENOMEM,),
    "reserve": (errno.ENOSPC,),
    "populate": (errno.EFAULT,),
    "clear": (errno.EIO,),
    "rewrite": (errno.EIO,),
    "write_at": (SHORT, errno.EIO),
    "write": (SHORT,),
    "rename": (errno.EIO,),
    "link": (errno.EIO, errno.EPERM),
    "sync": (errno.EIO,),
    "sync_directory": (errno.EIO, errno.EMFILE),
    "remove": (errno.EIO,),
    "remove_directory": (errno.EIO,),
    "lock": (errno.EMFILE,),
    "store": (),
}


#: Calls that change nothing and are not refused.
NOT_STEPS = frozenset(
    {
        *("page_faulter", "names", "directories", "size", "modified", "close", "read", "usage", "space", "memory"),
        *("mappings", "identity"),
    }
)


class _Mapping(mmap.mmap):
    step: Callable[[], None]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.step()
        super().__setitem__(key, value)


def _way() -> tuple[str, ...]:
    frame: FrameType | None = sys._getframe(2)
    names = []
    while frame is not None and ("/tests/" not in frame.f_code.co_filename or frame.f_code.co_filename == __file__):
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return tuple(names)


class CrashDisk(FileSystem):
    """The file system below `root`, whose content at the start is durable.

    Attributes:
        steps: How many steps were begun.
        refuse_at, refuse_how: The step that is refused, and in which of its ways (REFUSALS).
        refusing: Steps, by name, that are refused until they are taken out again.
        room, files_left: Bytes that can still be reserved, and files that can still be made; None is no limit.
        observer: Called before and after each step.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.steps = 0
        self.refuse_at = 0
        self.refuse_how = 0
        self.refusing: dict[str, int] = {}
        self.refused = 0
        self.room: int | None = None
        self.files_left: int | None = None
        self.observer: Callable[[Step], None] | None = None
        self._fds: dict[int, CachedFile] = {}
        self._top = found_below(root)

    def image(self) -> DirectoryImage:
        """What is durable now, and what a crash may add."""
        return self._top.image({})

    # --- steps ---

    def _step(self, name: str, path: str) -> bool:
        """Begin a step; true when it is to write half only."""
        self.steps += 1
        if self.observer is not None:
            self.observer(Step(self.steps, name, path, _way()))
        code = self.refusing.get(name)
        if self.refuse_at == self.steps:
            code = REFUSALS[name][self.refuse_how % len(REFUSALS[name])] if REFUSALS[name] else None
        if code is None:
            return False
        self.refused += 1
        if code == SHORT:
            return True
        if name in {"sync", "sync_directory"} and code == errno.EIO:
            raise SyncFailed(code, os.strerror(code))
        raise refusal(code)

    def _done(self, name: str, path: str) -> None:
        if self.observer is not None:
            self.observer(Step(self.steps, name, path, ()))

    def _directory(self, path: str) -> CachedDirectory:
        at: Node = self._top
        for part in path[len(str(self.root)) + 1 :].split("/"):
            if part:
                assert isinstance(at, CachedDirectory)
                at = at.now[part]
        assert isinstance(at, CachedDirectory)
        return at

    def _parent(self, path: str) -> tuple[CachedDirectory, str]:
        parent, _, name = path.rpartition("/")
        return self._directory(parent), name

    def _file(self, path: str) -> CachedFile:
        parent, name = self._parent(path)
        file = parent.now[name]
        assert isinstance(file, CachedFile)
        return file

    def _new_file(self, path: str) -> CachedFile:
        parent, name = self._parent(path)
        file = parent.now.get(name)
        if file is None:
            file = CachedFile(path, None)
            parent.change({name: file})
        assert isinstance(file, CachedFile)
        return file

    # --- the file system ---

    def make_directory(self, path: str, *, durable: bool = True, within: str = "") -> None:
        missing = [each for each in (Path(path), *Path(path).parents) if not each.is_dir()]
        for directory in reversed(missing):
            self._step("make_directory", str(directory))
            directory.mkdir()
            parent, name = self._parent(str(directory))
            parent.change({name: CachedDirectory()})
            self._done("make_directory", str(directory))
            if not durable:
                continue
            try:
                self.sync_directory(str(directory.parent))
            except OSError:
                directory.rmdir()
                parent.change({name: None})
                raise

    def create(self, path: str, size: int, head: bytes = b"") -> int:
        self._step("create", path)
        if self.files_left is not None:
            if self.files_left <= 0:
                self.refused += 1
                raise refusal(errno.ENOSPC)
            self.files_left -= 1
        fd = super().create(path, 0) if not Path(path).exists() else super().open(path)
        file = self._new_file(path)
        try:
            self._step("resize", path)
        except OSError:
            super().close(fd)
            raise
        os.ftruncate(fd, size)
        if head:
            os.pwrite(fd, head, 0)
        self._parent(path)[0].change({}, file)
        self._fds[fd] = file
        self._done("resize", path)
        return fd

    def open(self, path: str) -> int:
        self._step("open", path)
        fd = super().open(path)
        self._fds[fd] = self._file(path)
        return fd

    def close(self, fd: int) -> None:
        self._fds.pop(fd, None)
        super().close(fd)

    def map(self, fd: int, size: int, *, scattered: bool) -> mmap.mmap:
        path = self._fds[fd].path
        self._step("map", path)
        mapping = _Mapping(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        mapping.step = lambda: self._store(path)
        return mapping

    def _store(self, path: str) -> None:
        self._step("store", path)

    def reserve(self, fd: int, offset: int, length: int) -> None:
        self._step("reserve", self._fds[fd].path)
        if self.room is not None:
            if length > self.room:
                self.refused += 1
                raise refusal(errno.ENOSPC)
            self.room -= length
        super().reserve(fd, offset, length)

    def populate(self, mapping: mmap.mmap, offset: int, length: int) -> bool:
        self._step("populate", "")
        return super().populate(mapping, offset, length)

    def rewrite(self, fd: int, offset: int, length: int) -> None:
        file = self._fds[fd]
        self._step("rewrite", file.path)
        super().rewrite(fd, offset, length)
        file.clean.clear()
        self._done("rewrite", file.path)

    def clear(self, fd: int, offset: int, length: int) -> None:
        path = self._fds[fd].path
        self._step("clear", path)
        super().clear(fd, offset, length)
        self._fds[fd].clean.clear()
        self._done("clear", path)

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        path = self._fds[fd].path
        short = self._step("write_at", path)
        super().write_at(fd, data[: len(data) // 2] if short else data, offset)
        self._done("write_at", path)
        if short:
            raise refusal(errno.ENOSPC)

    def sync(self, fd: int) -> None:
        file = self._fds[fd]
        try:
            self._step("sync", file.path)
        except SyncFailed:
            file.fail()
            raise
        file.sync()
        self._done("sync", file.path)

    def sync_directory(self, path: str) -> None:
        self._step("sync_directory", path)
        self._directory(path).sync()
        self._done("sync_directory", path)

    def write(self, path: str, data: bytes, *, like: str | None = None, durable: bool = True) -> None:
        parent, name = self._parent(path)
        if like is not None and name in parent.now:
            self.remove(path)
        self._step("create", path)
        file = self._new_file(path)
        Path(path).write_bytes(b"")
        parent.change({}, file)
        short = self._step("write", path)
        Path(path).write_bytes(data[: len(data) // 2] if short else data)
        if short:
            raise refusal(errno.ENOSPC)
        self._done("write", path)
        if not durable:
            return
        self._step("sync", path)
        file.sync()
        self._done("sync", path)
        self.sync_directory(str(Path(path).parent))

    def rename(self, path: str, to: str) -> None:
        self._step("rename", to)
        file = self._file(path)
        parent = self._unname(to)
        Path(path).replace(to)
        file.path = to
        parent.change({Path(path).name: None, Path(to).name: file})
        self._done("rename", to)

    def link(self, path: str, name: str) -> None:
        self._step("link", name)
        file = self._file(path)
        parent = self._unname(name)
        Path(name).unlink(missing_ok=True)
        Path(name).hardlink_to(path)
        parent.change({Path(name).name: file})
        self._done("link", name)

    def _unname(self, path: str) -> CachedDirectory:
        """The directory of a path that another file gets, or none: what has it is known by another name, or by none."""
        parent, name = self._parent(path)
        file = parent.now.get(name)
        if isinstance(file, CachedFile):
            others = [other for other, node in parent.now.items() if node is file and other != name]
            if others:
                file.path = str(Path(path).with_name(others[0]))
            else:
                file.removed = file.cached()
        return parent

    def remove(self, path: str) -> None:
        self._step("remove", path)
        parent = self._unname(path)
        if Path(path).name not in parent.now:
            return
        super().remove(path)
        parent.change({Path(path).name: None})
        self._done("remove", path)

    def remove_directory(self, path: str) -> None:
        self._step("remove_directory", path)
        existed = Path(path).is_dir()
        super().remove_directory(path)
        if existed and not Path(path).is_dir():
            parent, name = self._parent(path)
            parent.change({name: None})
        self._done("remove_directory", path)

    def lock(self, path: str) -> int:
        self._step("lock", path)
        fd = super().lock(path)
        self._fds[fd] = self._new_file(path)
        return fd

    def memory(self) -> int:
        return 1 << 30

    def mappings(self) -> int:
        return 1024
