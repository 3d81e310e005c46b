"""Where the records are that entries of a consume queue point to, as views; the kernel finds them if there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire import native
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT


def python_record_runs(entries: memoryview, whole: memoryview) -> list[memoryview] | None:
    """Views of the records that entries point to, adjacent records in one.

    Args:
        entries: At least one.
        whole: The log from the first entry's record to the end of the last one's.

    Returns:
        None: they are not in this order in the log, so that this store did not write the entries.
    """
    runs: list[memoryview] = []
    first: int = ENTRY_STRUCT.unpack_from(entries)[0]
    start = end = 0
    for physical_offset, size, _ in ENTRY_STRUCT.iter_unpack(entries):
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
