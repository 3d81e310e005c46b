"""Where the records are that entries of a consume queue point to, as views; the kernel finds them if there is one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import Final

from rocketwire import native
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT

_ENTRY_FORMAT: Final = ENTRY_STRUCT.format.lstrip(">")


@lru_cache(maxsize=64)
def _unpacker(count: int) -> Callable[[memoryview], tuple[int, ...]]:
    return struct.Struct(">" + _ENTRY_FORMAT * count).unpack_from


def python_record_runs(entries: memoryview, whole: memoryview) -> list[memoryview] | None:
    """Views of the records that entries point to, adjacent records in one.

    Args:
        entries: At least one.
        whole: The log from the first entry's record to the end of the last one's.

    Returns:
        None: they are not in this order in the log, so that this store did not write the entries.
    """
    flat = _unpacker(len(entries) // ENTRY_SIZE)(entries)
    offsets, sizes, first = flat[0::3], flat[1::3], flat[0]
    adjacent = sum(sizes) == len(whole) and min(sizes) > 0
    if adjacent and tuple(accumulate(sizes[:-1], initial=first)) == offsets:
        return [whole]
    runs: list[memoryview] = []
    start = end = 0
    for physical_offset, size in zip(offsets, sizes, strict=True):
        place = physical_offset - first
        if place < end or size <= 0 or place + size > len(whole):
            return None
        if place != end:
            runs.append(whole[start:end])
            start = place
        end = place + size
    runs.append(whole[start:end])
    return runs


record_runs: Final[Callable[[memoryview, memoryview], list[memoryview] | None]] = (
    python_record_runs if native.kernel is None else native.kernel.record_runs
)
