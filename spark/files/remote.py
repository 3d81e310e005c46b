"""The interface of a remote file system: whole listings, and ranges of files. Every name is a URL.

Answers may take long and fail in many ways; each failure is an OSError here, FileNotFoundError for missing files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple, Protocol


class FoundFile(NamedTuple):
    """An entry of a listing: `url` has no slash at its end, `size` is in bytes, `modified` in ms (0: not known)."""

    url: str
    directory: bool
    size: int
    modified: int


class RemoteFile(Protocol):
    """A file whose ranges can be fetched, by several threads at once."""

    size: int
    """In bytes, when it was opened."""

    def fetch(self, offset: int, length: int) -> bytes:
        """These bytes; fewer where the file was cut meanwhile.

        Raises:
            OSError: they did not come.
        """
        ...

    def size_now(self) -> int:
        """Size in bytes, queried again.

        Raises:
            OSError: it did not come; FileNotFoundError: the file was removed.
        """
        ...

    def close(self) -> None:
        """Release the file's resources. No fetch may be in progress."""
        ...


class RemoteFileSystem(Protocol):
    """A remote file system."""

    def children(self, url: str) -> list[FoundFile]:
        """What is in a directory.

        Raises:
            OSError: it cannot be listed; where directories are real, FileNotFoundError for one that is not there.
        """
        ...

    def below(self, url: str) -> list[FoundFile]:
        """Everything below a directory, in as few requests as possible; directories may be missing in it.

        Raises:
            OSError: as `children`.
        """
        ...

    def open(self, url: str) -> RemoteFile:
        """A file.

        Raises:
            OSError: there is none, or it may not be read.
        """
        ...


_NUMBERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "connect_timeout": float,
    "request_timeout": float,
    "load_frequency": int,
    "port": int,
    "buffer_size": int,
    "retry_time_limit": lambda text: timedelta(seconds=float(text)),
}


def arguments(options: Mapping[str, str]) -> dict[str, Any]:
    """Options by name: numbers where one is due, true and false, JSON objects, else text.

    Raises:
        ValueError: a value is invalid.
    """
    found: dict[str, Any] = {}
    for name, text in options.items():
        if name in _NUMBERS:
            found[name] = _NUMBERS[name](text)
        elif text.lower() in {"true", "false"}:
            found[name] = text.lower() == "true"
        else:
            found[name] = json.loads(text) if text.startswith("{") else text
    return found
