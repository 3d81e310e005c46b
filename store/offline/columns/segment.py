"""The files of a segment: a numpy memory map a column, in blocks whose checksums the manifest has.

Beside the columns of its rows a segment has two tables, so that a query reads few of them. Keys are sorted by their
hash, in blocks that are small, so that a lookup reads and checks some tens of KiB: the manifest has the first of each
block. Groups count the rows of each block by topic, tag and minute: counts are made from them, and blocks without a
wanted topic or tag are not read.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import crc32c
import numpy as np
from mmap_ninja import numpy as maps
from numpy.typing import NDArray

from rocketwire.store.disk.replacing import sync_folder
from rocketwire.store.offline.columns.manifest import CHECKSUM, KEY, ColumnSegment, ColumnsUnusable

#: Rows of a block, and items of a block of anything but keys.
BLOCK: Final = 1 << 16
#: Keys of a block.
KEY_BLOCK: Final = 1 << 12
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
#: Keys are ragged: each is its hash and its row in one number, sorted. `group` has rows of `GROUP`, or nothing where
#: these would be too many.
TABLES: Final[dict[str, type[np.generic]]] = {"key": np.int64, "group": np.int32}
#: What groups are of: the number of a block, then columns, then how many rows.
GROUP: Final = ("block", "topic", "tag", "minute", "count")
#: Rows of a segment for which there may be one group, and how many groups there may be in any case.
_LEAST_OF_A_GROUP: Final = 8
_FEW_GROUPS: Final = 1024
_ROW_BITS: Final = 32
#: The file that mmap_ninja writes the items into.
_DATA: Final = "data.ninja"
_ROW_MASK: Final = (1 << _ROW_BITS) - 1


class SegmentDamaged(ColumnsUnusable):
    """A file of a segment is damaged or missing; the segment can be made again from the log."""

    def __init__(self, segment: ColumnSegment, what: str) -> None:
        super().__init__(what)
        self.segment = segment


def write(
    folder: Path, columns: dict[str, NDArray[Any]], key_hash: NDArray[Any], key_row: NDArray[Any]
) -> ColumnSegment:
    """Write a new segment, and have the disk keep it. There is one row at least."""
    arrays = {name: columns[name].astype(kind) for name, kind in COLUMNS.items()}
    keys = np.sort(key_hash.astype(np.int64) << _ROW_BITS | key_row.astype(np.int64))
    arrays |= {"key": keys, "group": _groups(arrays)}
    folder.mkdir()
    checksums: dict[str, bytes] = {}
    for name, array in arrays.items():
        step = _step(name)
        sums = [crc32c.crc32c(array[at : at + step].tobytes()) for at in range(0, len(array), step)]
        checksums[name] = np.array(sums, CHECKSUM).tobytes()
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
    return ColumnSegment(
        name=folder.name,
        rows=len(times),
        first=int(arrays["physical_offset"][0]),
        oldest=int(times.min()),
        newest=int(times.max()),
        checksums=checksums,
        fence=keys[::KEY_BLOCK].astype(KEY).tobytes(),
    )


def _step(name: str) -> int:
    return KEY_BLOCK if name == "key" else BLOCK


def _groups(columns: dict[str, NDArray[Any]]) -> NDArray[np.int32]:
    rows = len(columns["topic"])
    tables: list[NDArray[np.int32]] = []
    count = 0
    for number in range(-(-rows // BLOCK)):
        part = slice(number * BLOCK, (number + 1) * BLOCK)
        values, counts = grouped([columns[name][part] for name in GROUP[1:-1]])
        count += len(counts)
        if count > max(_FEW_GROUPS, rows // _LEAST_OF_A_GROUP):
            return np.zeros(0, np.int32)
        tables.append(np.stack([np.full(len(counts), number), *values, counts], axis=1).astype(np.int32))
    return np.concatenate(tables).reshape(-1)


class OpenSegment:
    """A segment for reading; blocks are checked when they are first read."""

    def __init__(self, folder: Path, segment: ColumnSegment) -> None:
        self.segment = segment
        self._folder = folder / segment.name
        self._checksums = {name: np.frombuffer(sums, CHECKSUM) for name, sums in segment.checksums.items()}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._maps: dict[str, mmap.mmap] = {}
        self._checked: set[tuple[str, int]] = set()

    @property
    def blocks(self) -> range:
        """The numbers of the blocks of its rows."""
        return range(-(-self.segment.rows // BLOCK))

    def rows_of(self, number: int) -> int:
        """How many rows a block has."""
        return min(BLOCK, self.segment.rows - number * BLOCK)

    def expect(self, name: str, first: int, end: int) -> None:
        """Have the system read blocks of a column ahead, while this process does something else.

        Raises:
            SegmentDamaged: the column does not exist.
        """
        length = len(self._array(name))
        step = _step(name)
        size = self._arrays[name].itemsize
        start, behind = min(first * step, length) * size, min(end * step, length) * size
        start -= start % mmap.PAGESIZE
        if start < behind:
            self._maps[name].madvise(mmap.MADV_WILLNEED, start, behind - start)

    def block(self, name: str, number: int) -> NDArray[Any]:
        """A block of a column.

        Raises:
            SegmentDamaged: it is damaged, or not there.
        """
        step = _step(name)
        array = self._array(name)[number * step : (number + 1) * step]
        if (name, number) not in self._checked:
            self.expect(name, number, number + 1)
            if crc32c.crc32c(array.view(np.uint8).data) != self._checksums[name][number]:
                raise SegmentDamaged(self.segment, f"block {number} of {self._folder.name}/{name} is damaged")
            self._checked.add((name, number))
        return array

    def whole(self, name: str) -> NDArray[Any]:
        """All of a column.

        Raises:
            SegmentDamaged: it is damaged, or not there.
        """
        count = len(self._checksums[name])
        if count:
            self.expect(name, 0, count)
        parts = [self.block(name, number) for number in range(count)]
        return np.concatenate([np.zeros(0, (COLUMNS | TABLES)[name]), *parts])

    def _array(self, name: str) -> NDArray[Any]:
        found = self._arrays.get(name)
        if found is None:
            path = self._folder / name / _DATA
            kind = np.dtype((COLUMNS | TABLES)[name])
            try:
                # mmap_ninja would read four more files, whose content is known already.
                with path.open("rb") as file:
                    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
                found = np.frombuffer(mapped, kind)
            except (OSError, ValueError) as error:
                raise SegmentDamaged(self.segment, f"{self._folder.name}/{name} cannot be read") from error
            whole = len(found) == self.segment.rows if name in COLUMNS else True
            if -(-len(found) // _step(name)) != len(self._checksums[name]) or not whole:
                raise SegmentDamaged(self.segment, f"{self._folder.name}/{name} is damaged")
            self._arrays[name], self._maps[name] = found, mapped
        return found

    def rows_by_hash(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The hashes of all keys, ascending, and the row of each.

        Raises:
            SegmentDamaged: they are damaged, or not there.
        """
        keys = self.whole("key")
        return (keys >> _ROW_BITS).astype(np.int32), keys & _ROW_MASK

    def expect_key(self, key_hash: int) -> None:
        """Have the system read what `rows_of_key` will read.

        Raises:
            SegmentDamaged: keys are not there.
        """
        numbers = self._key_blocks(key_hash)
        if numbers:
            self.expect("key", numbers.start, numbers.stop)

    def _key_blocks(self, key_hash: int) -> range:
        low = key_hash << _ROW_BITS
        fence = np.frombuffer(self.segment.fence, KEY)
        return range(
            max(0, int(np.searchsorted(fence, low)) - 1), int(np.searchsorted(fence, low | _ROW_MASK, "right"))
        )

    def rows_of_key(self, key_hash: int) -> NDArray[np.int64]:
        """The rows, ascending, that have a key of this hash: those with the key, and seldom others.

        Raises:
            SegmentDamaged: keys are damaged, or not there.
        """
        low = key_hash << _ROW_BITS
        found: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        for number in self._key_blocks(key_hash):
            block = self.block("key", number)
            found.append(block[np.searchsorted(block, low) : np.searchsorted(block, low | _ROW_MASK, "right")])
        return np.unique(np.concatenate(found) & _ROW_MASK)

    def groups(self) -> dict[str, NDArray[np.int32]] | None:
        """How many rows of each block there are by topic, tag and minute: columns; None if this was not counted.

        Raises:
            SegmentDamaged: they are damaged, or not there.
        """
        if not self.segment.checksums["group"]:
            return None
        table = self.whole("group").reshape(-1, len(GROUP))
        return {name: table[:, number] for number, name in enumerate(GROUP)}


#: Cells a row at which counting in a table of all combinations costs more than sorting.
_SPARSE: Final = 16


def grouped(
    columns: Sequence[NDArray[Any]], weights: NDArray[Any] | None = None
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The combinations that occur, as columns, and how many rows have each: or the sum of its rows' weights.

    There is one column at least, and one row.
    """
    lows = [int(column.min()) for column in columns]
    widths = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    if np.prod(widths, dtype=np.float64) > len(columns[0]) * _SPARSE:
        found, places = np.unique(np.stack(columns).astype(np.int64), axis=1, return_inverse=True)
        return list(found), np.bincount(places.ravel(), weights).astype(np.int64)
    cell = np.zeros(len(columns[0]), np.int64)
    for column, low, width in zip(columns, lows, widths, strict=True):
        cell *= width
        cell += column
        cell -= low
    counts = np.bincount(cell, weights).astype(np.int64)
    cells = np.flatnonzero(counts)
    parts = np.unravel_index(cells, widths)
    return [part + low for part, low in zip(parts, lows, strict=True)], counts[cells]
