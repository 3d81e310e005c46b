"""Opening and reading files of a store that somebody else may be changing: what can go wrong, in the store's words."""

from __future__ import annotations

from typing import Self

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.input_files import InputFile


class FileGone(StoreUnreadable):
    """A file was removed since the directory was looked at: a live broker does that with old ones."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "it was removed meanwhile")


class OpenFile:
    """A file that is open for reading until `close`, or as a context."""

    __slots__ = ("_file", "path")

    def __init__(self, path: str) -> None:
        """Open it.

        Raises:
            FileGone: it was removed.
            StoreUnreadable: it may not be read, or is no regular file.
        """
        self.path = path
        try:
            self._file = InputFile(path)
        except FileNotFoundError as error:
            raise FileGone(path) from error
        except OSError as error:
            raise StoreUnreadable(path, error.strerror or str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; a second time does nothing."""
        self._file.close()

    def size(self) -> int:
        """Size in bytes, now."""
        return self._file.size()

    def read(self, offset: int, length: int) -> bytes:
        """Bytes from an offset on; fewer than `length` only where the file ends.

        Raises:
            StoreUnreadable: the disk refused.
        """
        try:
            return self._file.read(offset, length)
        except OSError as error:
            raise StoreUnreadable(self.path, error.strerror or str(error)) from error


def read_whole(path: str, most: int) -> bytes:
    """The content of a small file: at most so many bytes of it.

    Raises:
        FileGone: it is not there.
        StoreUnreadable: it cannot be read.
    """
    with OpenFile(path) as file:
        return file.read(0, most)
