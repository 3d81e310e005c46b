"""Errors for files and folders of an open store that were removed or moved away."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocketwire.store.errors import StoreGone, StoreNotWritable

if TYPE_CHECKING:
    from rocketwire.store.disk.files import FileSystem


def missing_path_error(path: str, files: FileSystem) -> StoreGone:
    """The error for a path that is not there; it names the folder if the whole folder is gone."""
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
