"""Mappings of files that hold no descriptor."""

from __future__ import annotations

import gc
import mmap
import os
from pathlib import Path

import pytest

from rocketwire.store.disk.mapping import map_shared
from tests.store.support import descriptors


def opened(path: Path, size: int, flags: int = os.O_RDWR) -> int:
    path.touch()
    os.truncate(path, size)
    return os.open(path, flags)


def is_mapped(path: Path) -> bool:
    gc.collect()
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("size", [mmap.PAGESIZE, 3 * mmap.PAGESIZE, 20_000, 41])
def test_it_is_the_file_and_no_descriptor(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    fd = opened(path, size)
    before = descriptors()
    mapping = map_shared(fd, size)
    assert not descriptors() - before
    os.close(fd)
    assert isinstance(mapping, mmap.mmap)
    assert len(mapping) == size
    mapping[:5] = b"first"
    mapping[size - 4 :] = b"last"
    path_bytes = path.read_bytes()
    assert path_bytes[:5] == b"first"
    assert path_bytes[-4:] == b"last"
    with path.open("r+b") as file:
        file.write(b"FIRST")
    assert mapping[:5] == b"FIRST"
    mapping.madvise(mmap.MADV_RANDOM)
    view = memoryview(mapping)
    del mapping
    assert is_mapped(path)  # who holds a part of it keeps it
    assert bytes(view[:5]) == b"FIRST"
    del view
    assert not is_mapped(path)


def test_what_cannot_be_mapped_is_refused(tmp_path: Path) -> None:
    fd = opened(tmp_path / "file", 8192, os.O_RDONLY)
    for _ in range(3):
        with pytest.raises(OSError, match="Permission denied"):
            map_shared(fd, 8192)
    os.close(fd)
    directory = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    with pytest.raises(OSError, match=r"No such device|Permission denied"):
        map_shared(directory, 8192)
    os.close(directory)
    gc.collect()
