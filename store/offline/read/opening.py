"""Opening and reading files of a store that a broker may be writing to, with the store's errors."""

from __future__ import annotations

from typing import Self

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.read.file_system import LOCAL, ReadableFileSystem


class FileGone(StoreUnreadable):
    """A file was removed since the directory was listed: a live broker removes old ones."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "it was removed meanwhile")


class Closable:
    """Can be used as a context, at whose end it is closed."""

    __slots__ = ()

    def close(self) -> None:
        """Close it; a second time does nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OpenFile(Closable):
    """A file that is open for reading until `close`, or as a context."""

    __slots__ = ("_file", "path")

    def __init__(self, path: str, files: ReadableFileSystem = LOCAL, until: int | None = None) -> None:
        """Open it.

        Args:
            path: Its path.
            files: Where it is.
            until: The offset at which a reader in order will stop.

        Raises:
            FileGone: it was removed.
            StoreUnreadable: it may not be read, or is not a regular file.
        """
        self.path = path
        try:
            self._file = files.open(path, until)
        except OSError as error:
            raise _unreadable(path, error) from error

    def close(self) -> None:
        """Close it; a second time does nothing."""
        self._file.close()

    def size(self) -> int:
        """Size in bytes, now; of a remote file, when it was opened."""
        return self._file.size()

    def read(self, offset: int, length: int) -> bytes:
        """Bytes from an offset on; fewer than `length` only where the file ends.

        Raises:
            FileGone: it is far away, and was removed.
            StoreUnreadable: a read failed.
        """
        try:
            return self._file.read(offset, length)
        except OSError as error:
            raise _unreadable(self.path, error) from error


def _unreadable(path: str, error: OSError) -> StoreUnreadable:
    if isinstance(error, FileNotFoundError):
        return FileGone(path)
    return StoreUnreadable(path, error.strerror or str(error))


def read_whole(path: str, most: int, files: ReadableFileSystem = LOCAL) -> bytes:
    """The content of a small file: at most so many bytes of it.

    Raises:
        FileGone: it is not there.
        StoreUnreadable: it cannot be read.
    """
    with OpenFile(path, files) as file:
        return file.read(0, most)
