"""Naming what is gone: files and folders of a store that somebody removed or moved away while it is open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocketwire.store.errors import StoreGone, StoreNotWritable

if TYPE_CHECKING:
    from rocketwire.store.disk.files import FileSystem


def gone(path: str, files: FileSystem) -> StoreGone:
    """The error of a path that is not there: it names the folder that is gone, where that is more than the file."""
    parent = path.rpartition("/")[0]
    while parent and files.identity(parent) is None:
        path, parent = parent, parent.rpartition("/")[0]
    return StoreGone(path)


def trouble(error: OSError, path: str, files: FileSystem) -> StoreGone | StoreNotWritable:
    """What an error of the system means to who uses the store; it names the file, or `path` if it knows none."""
    where = path if error.filename is None else os.fsdecode(error.filename)
    if isinstance(error, FileNotFoundError):
        return gone(where, files)
    return StoreNotWritable(where, error.strerror or str(error))
