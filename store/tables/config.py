"""Reading and replacing files of `config/`, with the former text kept as .bak.

A file that is missing, empty or unreadable is read from its .bak, as Apache does. If neither is readable but one of
them is not empty, that is an error: starting with an empty table would overwrite it. A truncated text, as a crash of
the machine leaves it, does not replace the .bak that was read instead of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from rocketwire.store.disk.files import FileSystem, missing_path_error
from rocketwire.store.errors import ConfigInvalid, StoreNotWritable
from rocketwire.wire.errors import WireError

log = logging.getLogger(__name__)

_WITHOUT: Final = {
    "consumerOffset.json": "all groups begin as new ones do",
    "delayOffset.json": "all delayed messages that the log still holds are delivered again",
    "subscriptionGroup.json": "all groups have the defaults",
    "topics.json": "topics are unknown until they are created again, with the same number of queues",
}
"""What happens without a file, for the error text."""

T = TypeVar("T")

_OPEN: Final = "abort"  # exists while a server runs


def load(path: str, files: FileSystem, decode: Callable[[bytes], T]) -> T | None:
    """The decoded content of a config file, None when there is none.

    Raises:
        ConfigInvalid: it and its .bak are unreadable.
        StoreNotWritable: it may not be read at all.
    """
    found = load_from(path, files, decode)
    return None if found is None else found[0]


def load_from(path: str, files: FileSystem, decode: Callable[[bytes], T]) -> tuple[T, str] | None:
    """As `load`, with the path of the file that was read: it, or its .bak."""
    reason = ""
    for candidate in (path, path + ".bak"):
        try:
            data = files.read(candidate)
        except OSError as error:
            raise StoreNotWritable(candidate, error.strerror or str(error)) from error
        if data is None or not data.strip():
            continue
        try:
            value = decode(data)
        except WireError as error:
            reason = reason or str(error)
            continue
        if candidate != path and (found := files.size(path)) is not None:
            log.warning(
                "%(file)s is not readable, %(instead)s is taken instead: %(reason)s",
                {"file": path, "instead": candidate, "reason": reason or f"{found} bytes"},
            )
        return value, candidate
    if reason:
        raise ConfigInvalid(path, f"{reason}; {_remedy(path)}")
    return None


def _remedy(path: str) -> str:
    without = _WITHOUT.get(path.rpartition("/")[2], "the server starts as if it had never been written")
    return f"put a good copy in its place, or move it and its .bak away: then {without}"


def save(path: str, files: FileSystem, data: bytes) -> None:
    """Replace a config file in one step.

    Raises:
        StoreGone: the directory of an open store was removed.
        StoreNotWritable: the directory cannot be written, or the disk is full.
    """
    try:
        make_folder(path, files)
        former = files.read(path)
        if former is not None and not _whole(former):
            files.remove(path)
        files.replace(path, data)
    except FileNotFoundError as error:
        raise missing_path_error(path.rpartition("/")[0], files) from error
    except OSError as error:
        raise StoreNotWritable(path, error.strerror or str(error)) from error


def make_folder(path: str, files: FileSystem) -> None:
    """Make the folder of a config file, but not while a server has the store open: then it was moved away.

    Raises:
        OSError: it cannot be made.
    """
    folder = path.rpartition("/")[0]
    root = folder.rpartition("/")[0]
    if files.identity(f"{root}/{_OPEN}") is None:
        files.make_directory(folder, within=root)


def _whole(text: bytes) -> bool:
    return text.lstrip().startswith(b"{") and text.rstrip().endswith(b"}")
