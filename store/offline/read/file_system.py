"""The file systems that a store can be read from: this machine's, or a remote one behind `ReadableFileSystem`.

`discover` gets one, and every file that it finds carries it. Paths are text with `/` between names. Errors are OSError
(FileNotFoundError for what does not exist), which `opening` and `directory` turn into the store's errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from rocketwire.store.disk.input_files import DirectoryEntry, InputFile, entries, locked_by_another

#: What a directory holds, by name. Raises OSError: it is not there, may not be read, or is no directory.
Listing = Callable[[str], list[DirectoryEntry]]


class ReadableFile(Protocol):
    """A file open for reading, which others may cut and remove meanwhile."""

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        ...

    def size(self) -> int:
        """Size in bytes, now or when the file was opened.

        Raises:
            OSError: it is not known.
        """
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Bytes from an offset on; fewer than `length` only where the file ends.

        Raises:
            OSError: they cannot be read.
        """
        ...


class ReadableFileSystem(Protocol):
    """Reads files and lists directories. It can be pickled, and equals another that reaches the same files."""

    def listing(self, root: str) -> Listing:
        """How directories under `root` (and `root`) are listed during one read of a store.

        For a remote store this may be a snapshot of all of them, taken now.

        Raises:
            OSError: `root` cannot be listed.
        """
        ...

    def open(self, path: str, until: int | None = None) -> ReadableFile:
        """Open a regular file.

        Args:
            path: Its path.
            until: The offset at which a reader in order will stop; a remote file fetches nothing ahead behind it.

        Raises:
            OSError: there is none, it may not be read, or it is not a regular file.
        """
        ...

    def locked(self, path: str) -> bool:
        """Whether another process holds the lock that a broker takes; it is tested without taking it.

        Raises:
            OSError: it cannot be known: there are no locks here, or the file may not be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """The files of this machine."""

    def listing(self, root: str) -> Listing:  # noqa: ARG002 - each directory is listed when it is read
        """See `ReadableFileSystem.listing`."""
        return entries

    def open(self, path: str, until: int | None = None) -> InputFile:  # noqa: ARG002 - the system reads ahead
        """See `ReadableFileSystem.open`."""
        return InputFile(path)

    def locked(self, path: str) -> bool:
        """See `ReadableFileSystem.locked`."""
        return locked_by_another(path)


LOCAL: Final = LocalFiles()
