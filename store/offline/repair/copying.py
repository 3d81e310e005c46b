"""Copying a store's directory unchanged; holes in sparse files stay holes."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.input_files import entries
from rocketwire.store.offline.read.opening import OpenFile

#: Files are copied in such parts, less those that are all zeros: the timer's wheel is mostly a hole.
_SPARSE: Final = 64 << 10


def copy_directory(source: str, target: str, files: FileSystem, *, but: Container[str] = ()) -> None:
    """Copy all files below a directory, less what has one of the names `but` in the directory itself.

    Args:
        source: A directory.
        target: An existing directory.
        files: The file system to write to.
        but: Names that are not copied.

    Raises:
        OSError: the source cannot be listed, or the target cannot be written.
        StoreUnreadable: a file cannot be read.
    """
    for entry in entries(source):
        if entry.name in but:
            continue
        path, copy = f"{source}/{entry.name}", f"{target}/{entry.name}"
        if entry.directory:
            files.make_directory(copy)
            copy_directory(path, copy, files)
        elif entry.regular:
            _copy_file(path, copy, files)


def _copy_file(source: str, copy: str, files: FileSystem) -> None:
    with OpenFile(source) as file:
        size = file.size()
        fd = files.create(copy, size)
        try:
            for at in range(0, size, _SPARSE):
                data = file.read(at, _SPARSE)
                if data != bytes(len(data)):
                    files.write_at(fd, data, at)
            files.sync(fd)
        finally:
            files.close(fd)
    files.sync_directory(copy.rpartition("/")[0])
