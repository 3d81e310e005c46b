"""The file system as the store uses it: the only place that creates, maps, syncs and removes files.

Every call names what the store needs, so a fake can refuse space, fail a flush or lose what was not synced. Two rules
are behind it:

* Files are created sparse in their full size, so a write through a mapping kills the process (SIGBUS) when the disk is
  full. Therefore room is reserved (`reserve`) ahead of the writer, where a full disk is an ordinary error, and the
  pages are touched in a way that can fail (`populate`): ext4 needs room to use what it reserved, and refuses that on a
  disk that is nearly full (tried).
* A new file is durable only when its directory was synced too.

Read-only tools use `input_files`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from rocketwire import native
from rocketwire.store.disk.mapping import map_shared
from rocketwire.store.errors import StoreGone, StoreLocked, StoreNotWritable, SyncFailed

#: madvise: fault the pages in for writing (Linux 5.14). Not among Python 3.11's constants.
_MADV_POPULATE_WRITE = 23
#: The kernel's version releases the interpreter lock meanwhile.
_advise = mmap.mmap.madvise if native.kernel is None else native.kernel.advise
_COPY_BLOCK = 1 << 20
_LOCK_CONTENT = b"lock"
_MOST_MAPPINGS = Path("/proc/sys/vm/max_map_count")
_USUAL_MAPPINGS = 65_530
#: struct flock of 64-bit Linux: type, whence, start, length, pid (0 for a lock that belongs to the open file).
FLOCK = struct.Struct("@hhqqi4x")
_ADVISE_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS})
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class PageFaulter(Protocol):
    """Allocates pages and faults them in ahead of the writer; it skips pages that it cannot populate."""

    def populate(self, mapping: mmap.mmap, path: str, start: int, length: int, /) -> None:
        """Begin with a range that starts at a page, in place of the former range.

        The range must hold zeros, and must not be written until the next call: zeros are written there.
        """
        ...

    def stop(self) -> None:
        """Forget the mapping; when this returns nothing is written any more."""
        ...


def _synced(sync: Callable[[int], None], fd: int) -> None:
    try:
        sync(fd)
    except OSError as error:
        raise SyncFailed(error.errno, error.strerror) from error


def _disk(path: str) -> os.statvfs_result:
    """What is known of the disk that holds a path or will hold it."""
    at = Path(path)
    while not at.exists():
        at = at.parent
    return os.statvfs(at)


class FileSystem:
    """The operations on files that the store needs. All errors are OSError; tests override methods to inject errors."""

    def make_directory(self, path: str, *, durable: bool = True, within: str = "") -> None:
        """Create a directory and its parents; durable when this returns, or else when all parents are synced.

        What is missing is made below `within` only: if that is not there itself, the error is FileNotFoundError.
        """
        if within and not Path(within).is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), within)
        missing = []
        at = Path(path)
        while not at.is_dir():
            missing.append(at)
            at = at.parent
        for directory in reversed(missing):
            directory.mkdir(exist_ok=True)
            if not durable:
                continue
            try:
                self.sync_directory(str(directory.parent))
            except OSError:
                # Else the next call would find it there and assume that it is durable.
                with contextlib.suppress(OSError):
                    directory.rmdir()
                raise

    def names(self, path: str) -> list[str]:
        """Sorted names in a directory; empty when there is none."""
        try:
            return sorted(os.listdir(path))  # noqa: PTH208 - a store has 100,000 directories: no paths of each
        except FileNotFoundError:
            return []

    def directories(self, path: str) -> list[str]:
        """Sorted names of the directories in a directory; empty when there is none."""
        try:
            with os.scandir(path) as found:
                return sorted(entry.name for entry in found if entry.is_dir())
        except FileNotFoundError:
            return []

    def identity(self, path: str | int) -> tuple[int, int] | None:
        """Device and inode of a path or descriptor, which do not depend on the name; None when there is none."""
        try:
            found = os.stat(path)  # noqa: PTH116 - takes descriptors, too
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def size(self, path: str) -> int | None:
        """Size of a file in bytes, None when there is none."""
        try:
            return Path(path).stat().st_size
        except FileNotFoundError:
            return None

    def modified(self, path: str) -> int | None:
        """Modification time of a file in ms; None when there is none."""
        try:
            return Path(path).stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return None

    def create(self, path: str, size: int, head: bytes = b"") -> int:
        """Create a sparse file of that size that begins with `head`; give its descriptor.

        The directory is not synced yet.

        The file gets its size and its head before its name, where the file system can do that: a process killed between
        the two would leave an empty file, and Apache's broker opens no store that holds one.
        """
        try:
            return self._create_whole(path, size, head)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
        return self._filled(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), size, head)

    def _create_whole(self, path: str, size: int, head: bytes) -> int:
        fd = self._filled(os.open(Path(path).parent, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o644), size, head)
        try:
            # Given a directory's descriptor, which an absolute path does not use, Python follows the link to the file.
            os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd)
        except OSError:
            os.close(fd)
            raise
        return fd

    @staticmethod
    def _filled(fd: int, size: int, head: bytes) -> int:
        try:
            os.ftruncate(fd, size)
            if head:
                os.pwrite(fd, head, 0)
        except OSError:
            os.close(fd)
            raise
        return fd

    def open(self, path: str) -> int:
        """Open an existing file for reading and writing."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        os.close(fd)

    def map(self, fd: int, size: int, *, scattered: bool) -> mmap.mmap:
        """Map the first bytes of a file, shared and writable; `scattered`: reads are random, so no read-ahead.

        The mapping does not need the descriptor after this returns, and holds none.
        Read-ahead around one page is as large as the disk's setting: megabytes of a file that is all holes.
        """
        mapping = map_shared(fd, size)
        if scattered:
            mapping.madvise(mmap.MADV_RANDOM)
        return mapping

    def reserve(self, fd: int, offset: int, length: int) -> None:
        """Allocate disk space for a range, so that writing it through a mapping cannot fail."""
        os.posix_fallocate(fd, offset, length)

    def populate(self, mapping: mmap.mmap, offset: int, length: int) -> bool:
        """Fault reserved pages in for writing; false where the kernel cannot.

        An error means that writing there would have killed the process.
        """
        start = offset - offset % mmap.PAGESIZE
        try:
            _advise(mapping, _MADV_POPULATE_WRITE, start, length + offset - start)
        except OSError as error:
            if error.errno in _ADVISE_UNSUPPORTED:
                return False
            raise
        return True

    def page_faulter(self) -> PageFaulter | None:
        """A helper that populates in a separate thread; None where the writer has to do it all."""
        kernel = native.kernel
        return kernel.PageFaulter() if kernel is not None and hasattr(kernel, "PageFaulter") else None

    def clear(self, fd: int, offset: int, length: int) -> None:
        """Zero what is not zero in a range, without filling its holes."""
        end = offset + length
        at = offset
        while at < end:
            try:
                at = os.lseek(fd, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole up to the end of the file
                    return
                raise
            stop = min(os.lseek(fd, at, os.SEEK_HOLE), end)
            while at < stop:
                block = os.pread(fd, min(_COPY_BLOCK, stop - at), at)
                if block.count(0) != len(block):
                    os.pwrite(fd, bytes(len(block)), at)
                at += len(block)

    def rewrite(self, fd: int, offset: int, length: int) -> None:
        """Write a range again unchanged: after a failed sync the page cache marks unwritten pages as clean."""
        end = offset + length
        for at in range(offset, end, _COPY_BLOCK):
            os.pwrite(fd, os.pread(fd, min(_COPY_BLOCK, end - at), at), at)

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        """Write into an existing range of a file."""
        written = os.pwrite(fd, data, offset)
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self, fd: int) -> None:
        """Return once the file's data is on the disk; raises SyncFailed."""
        _synced(os.fdatasync, fd)

    def sync_directory(self, path: str) -> None:
        """Return once the directory's entries are on the disk; raises SyncFailed, or another OSError if not tried."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _synced(os.fsync, fd)
        finally:
            os.close(fd)

    def read(self, path: str) -> bytes | None:
        """All bytes of a small file, None when there is none."""
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes, *, like: str | None = None, durable: bool = True) -> None:
        """Create or overwrite a small file; durable when this returns, or else when the kernel has written it.

        `like` makes it again, so that another name of the file keeps its text, with the permissions of that other file.
        """
        if like is not None:
            Path(path).unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                mode = stat.S_IMODE(Path(like).stat().st_mode)
                # A user who may not read the one must not be able to read the other, not even for a moment.
                Path(path).touch(mode=0o600)
                Path(path).chmod(mode)
        with Path(path).open("wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if durable:
            self.sync_directory(str(Path(path).parent))

    def rename(self, path: str, to: str) -> None:
        """Rename a file within its directory, replacing a file of that name; not durable yet."""
        Path(path).replace(to)

    def link(self, path: str, name: str) -> None:
        """Hard-link a file within its directory, replacing a file of that name; not durable yet."""
        temporary = name + ".tmp"
        Path(temporary).unlink(missing_ok=True)
        Path(temporary).hardlink_to(path)
        self.rename(temporary, name)
        Path(temporary).unlink(missing_ok=True)  # a rename to another name of the same file leaves both

    def exchange(self, path: str, other: str) -> None:
        """Give each of two files of a directory the other's name; at every moment one of them has the first name.

        Not durable yet. After an error the second name may not exist.
        """
        aside = path + ".old"
        self.link(path, aside)
        self.rename(other, path)
        self.rename(aside, other)

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's text in one step; the former text goes to its .bak."""
        former = self.read(path)
        if former is not None:
            self._put(path + ".bak", former, like=path)
        self._put(path, data, like=path)

    def _put(self, path: str, data: bytes, *, like: str) -> None:
        temporary = path + ".tmp"
        self.write(temporary, data, like=like)
        self.rename(temporary, path)
        self.sync_directory(str(Path(path).parent))

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        Path(path).unlink(missing_ok=True)

    def remove_directory(self, path: str) -> None:
        """Remove a directory if it exists and is empty."""
        try:
            Path(path).rmdir()
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise

    def lock(self, path: str) -> int:
        """Lock the first byte of a file, as Apache does; raises StoreLocked(its directory) if another has it.

        The lock belongs to the open file, so that a second store of the same process is refused as well; it
        conflicts with the process-owned lock that the JVM takes.
        """
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise StoreLocked(str(Path(path).parent)) from None
            raise
        os.pwrite(fd, _LOCK_CONTENT, 0)
        return fd

    def usage(self, path: str) -> float:
        """The used part, from 0 to 1, of the disk that holds a path or will hold it.

        As Apache and df count it: space reserved for root is not counted, and parts of a percent are rounded up.
        """
        disk = _disk(path)
        used = disk.f_blocks - disk.f_bfree
        return -(-used * 100 // max(1, used + disk.f_bavail)) / 100

    def space(self, path: str) -> tuple[int, int]:
        """The bytes of the disk that holds a path or will hold it: all, and those free for this user."""
        disk = _disk(path)
        return disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize

    def memory(self) -> int:
        """Bytes of physical memory."""
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    def mappings(self) -> int:
        """How many mappings the process may have."""
        try:
            return int(_MOST_MAPPINGS.read_text())
        except OSError:
            return _USUAL_MAPPINGS


def missing_path_error(path: str, files: FileSystem) -> StoreGone:
    """The error for a missing path; it names the folder if the whole folder is missing."""
    parent = path.rpartition("/")[0]
    while parent and files.identity(parent) is None:
        path, parent = parent, parent.rpartition("/")[0]
    return StoreGone(path)


def store_error_for(error: OSError, path: str, files: FileSystem) -> StoreGone | StoreNotWritable:
    """The store's error for an error of the system; it names that error's file, or else `path`."""
    where = path if error.filename is None else os.fsdecode(error.filename)
    if isinstance(error, FileNotFoundError):
        return missing_path_error(where, files)
    return StoreNotWritable(where, error.strerror or str(error))
