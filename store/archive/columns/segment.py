"""The files of a segment: a numpy memory map a column, in blocks whose checksums the manifest has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import crc32c
import numpy as np
from mmap_ninja import numpy as maps
from numpy.typing import NDArray

from rocketwire.store.archive.columns.manifest import ColumnsUnfit, Segment, sync_folder

#: Items of a block of any column.
BLOCK: Final = 1 << 16
#: The columns of a row, in the order of the log. Minutes are of the store time, since 1970.
COLUMNS: Final[dict[str, type[np.generic]]] = {
    "physical_offset": np.int64,
    "size": np.int32,
    "topic": np.int32,
    "tag": np.int32,
    "queue_id": np.int32,
    "queue_offset": np.int64,
    "store_timestamp": np.int64,
    "born_timestamp": np.int64,
    "minute": np.int32,
}
#: Keys are ragged: sorted by their hash, each with its row; `key_fence` has the first hash of each block of them.
KEYS: Final[dict[str, type[np.generic]]] = {"key_hash": np.int32, "key_row": np.int32, "key_fence": np.int32}


def write(folder: Path, columns: dict[str, NDArray[Any]], key_hash: NDArray[Any], key_row: NDArray[Any]) -> Segment:
    """Write a new segment, and have the disk keep it. There is one row at least."""
    order = np.argsort(key_hash, kind="stable")
    hashes = key_hash[order]
    arrays = {name: columns[name].astype(kind) for name, kind in COLUMNS.items()}
    keys = (hashes, key_row[order], hashes[::BLOCK])
    arrays |= {name: array.astype(KEYS[name]) for name, array in zip(KEYS, keys, strict=True)}
    folder.mkdir()
    checksums: dict[str, list[int]] = {}
    for name, array in arrays.items():
        checksums[name] = [crc32c.crc32c(array[at : at + BLOCK].tobytes()) for at in range(0, len(array), BLOCK)]
        if not len(array):
            continue  # nothing is not mapped
        maps.from_ndarray(folder / name, array).flush()
        for file in (folder / name).iterdir():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(folder / name)
    sync_folder(folder)
    sync_folder(folder.parent)
    times = arrays["store_timestamp"]
    return Segment(
        name=folder.name,
        rows=len(times),
        first=int(arrays["physical_offset"][0]),
        oldest=int(times.min()),
        newest=int(times.max()),
        checksums=checksums,
    )


class OpenSegment:
    """A segment for reading; blocks are checked when they are first read."""

    def __init__(self, folder: Path, segment: Segment) -> None:
        self.segment = segment
        self._folder = folder / segment.name
        self._arrays: dict[str, NDArray[Any]] = {}
        self._checked: set[tuple[str, int]] = set()

    def block(self, name: str, number: int) -> NDArray[Any]:
        """A block of a column.

        Raises:
            ColumnsUnfit: it is damaged, or not there.
        """
        array = self._array(name)[number * BLOCK : (number + 1) * BLOCK]
        if (name, number) not in self._checked:
            if crc32c.crc32c(array.view(np.uint8).data) != self.segment.checksums[name][number]:
                raise ColumnsUnfit(f"block {number} of {self._folder.name}/{name} is damaged")
            self._checked.add((name, number))
        return array

    def _array(self, name: str) -> NDArray[Any]:
        found = self._arrays.get(name)
        if found is None:
            try:
                found = np.asarray(maps.open_existing(self._folder / name, mode="r"))
            except (OSError, ValueError, TypeError) as error:
                raise ColumnsUnfit(f"{self._folder.name}/{name} cannot be read") from error
            kind = (COLUMNS | KEYS)[name]
            whole = self.segment.rows if name in COLUMNS else None
            if found.dtype != kind or found.ndim != 1 or (whole is not None and len(found) != whole):
                raise ColumnsUnfit(f"{self._folder.name}/{name} is damaged")
            self._arrays[name] = found
        return found

    def rows_of_key(self, key_hash: int) -> NDArray[np.int64]:
        """The rows, ascending, that have a key of this hash: those with the key, and seldom others."""
        fences = self.segment.checksums["key_fence"]
        if not fences:
            return np.zeros(0, np.int64)
        fence = np.concatenate([self.block("key_fence", number) for number in range(len(fences))])
        first = max(0, int(np.searchsorted(fence, key_hash, "left")) - 1)
        last = int(np.searchsorted(fence, key_hash, "right"))
        found = [
            self.block("key_row", number)[self.block("key_hash", number) == key_hash] for number in range(first, last)
        ]
        return np.unique(np.concatenate(found)).astype(np.int64) if found else np.zeros(0, np.int64)
