"""The numpy twin of the kernel's functions on the entries of an index file.

A batch is put at once: the chains of a whole batch are computed by sorting its slots, so that an entry whose slot
occurs earlier in the batch points to that one and the first of a slot points to what the file had. The bytes are the
same as if the entries were put one by one, as the kernel and Apache's broker do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocketwire.store.layout.index import ENTRY_DTYPE, SLOT_DTYPE
from rocketwire.wire.java import INT32_MAX

if TYPE_CHECKING:
    from mmap import mmap

    from numpy.typing import NDArray

    from rocketwire.store.index.index_file import EntryPlaces

_ENTRY: Final = np.dtype(ENTRY_DTYPE)
_SLOT: Final = np.dtype(SLOT_DTYPE)


def put_entries(
    mapping: mmap, places: EntryPlaces, hashes: memoryview, offsets: memoryview, timestamps: memoryview, count: int
) -> int:
    """Put the first `count` keys of three rows of 64-bit numbers; return how many took a slot that was free.

    Args:
        mapping: the file.
        places: where the entries go; the caller has made sure that they fit.
        hashes: positive numbers of 31 bits.
        offsets: physical offsets.
        timestamps: store timestamps in ms.
        count: at least one.
    """
    slots_at, slots, entries_at, first, begin_timestamp = places
    hash_row, offset_row, timestamp_row = (np.frombuffer(row, np.int64, count) for row in (hashes, offsets, timestamps))
    slot_table = np.frombuffer(mapping, _SLOT, slots, slots_at)
    new = np.frombuffer(mapping, _ENTRY, count, entries_at + first * _ENTRY.itemsize)

    slot_row = hash_row % slots
    order = np.argsort(slot_row, kind="stable")
    in_order = slot_row[order]
    again = np.empty(count, bool)
    again[0] = False
    np.equal(in_order[1:], in_order[:-1], out=again[1:])
    numbers = order + first
    previous = np.empty(count, np.int64)
    previous[1:] = numbers[:-1]
    newcomers = ~again
    known = slot_table[in_order[newcomers]].astype(np.int64)
    known[(known < 0) | (known > first)] = 0
    previous[newcomers] = known

    new["key_hash"] = hash_row
    new["physical_offset"] = offset_row
    new["time_diff"] = _time_differences(timestamp_row, begin_timestamp, first)
    new["previous"][order] = previous
    newest = np.empty(count, bool)
    newest[-1] = True
    newest[:-1] = newcomers[1:]
    slot_table[in_order[newest]] = numbers[newest]
    return int(np.count_nonzero(known == 0))


def _time_differences(timestamps: NDArray[np.int64], begin_timestamp: int, first: int) -> NDArray[np.int64]:
    begin = np.full(len(timestamps), begin_timestamp, np.int64)
    if first == 1:
        # The first entry counts from the end of the file before; those after it from the first entry.
        begin[1:] = timestamps[0]
    differences: NDArray[np.int64] = np.clip((timestamps - begin) // 1000, 0, INT32_MAX)
    differences[begin <= 0] = 0
    return differences


def scan_entries(
    view: memoryview, at: int, count: int, key_hash: int, most: int, file_begin: int, begin: int, end: int
) -> tuple[list[int], bool]:
    """Physical offsets of the entries of a key, newest first, and whether one of it was stored before `begin`.

    Args:
        view: the file.
        at: where the first of the entries is.
        count: how many entries are searched.
        key_hash: the hash of the key.
        most: the most entries returned.
        file_begin: the store time in ms from which the entries' seconds count.
        begin: the earliest store time in ms.
        end: the latest store time in ms.
    """
    block = np.frombuffer(view, _ENTRY, count, at)
    chosen = block[block["key_hash"] == key_hash][::-1]
    times = file_begin + chosen["time_diff"].astype(np.int64) * 1000
    offsets = chosen["physical_offset"][(begin <= times) & (times <= end)]
    return offsets[:most].tolist(), bool((times < begin).any())
