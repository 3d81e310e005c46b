"""Grouping records of the log by consume queue, and reading the entries that point to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.offline.read.directory import QueueFiles
from rocketwire.store.offline.read.entry_files import ENTRY
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.records.columns import RecordColumns
from rocketwire.wire.facts.codes import SysFlag


def by_queue(
    records: RecordColumns, topics: NDArray[np.int32], names: list[str]
) -> Iterator[tuple[str, int, NDArray[np.intp]]]:
    """Topic and number of each queue, and the numbers of its records in their order.

    Prepared and rolled back messages have no entries, and are omitted.

    Args:
        records: The records.
        topics: Of each record the number of its topic in `names`.
        names: Names of topics.
    """
    numbers = np.flatnonzero((records.sys_flag & SysFlag.TRANSACTION_PREPARED) == 0)
    key = topics[numbers].astype(np.int64) << 32 | records.queue_id[numbers].astype(np.int64) & 0xFFFFFFFF
    order = np.argsort(key, kind="stable")
    numbers, key = numbers[order], key[order]
    bounds = [0, *(np.flatnonzero(key[1:] != key[:-1]) + 1).tolist(), len(key)]
    for start, stop in itertools.pairwise(bounds):
        if start < stop:
            some = numbers[start:stop]
            yield names[topics[some[0]]], int(records.queue_id[some[0]]), some


def entries_at(files: QueueFiles, offsets: NDArray[np.int64]) -> NDArray[Any]:
    """The entry at each of some offsets of a queue, all zeros where there is none.

    Raises:
        StoreUnreadable: a read failed.
    """
    found = np.zeros(len(offsets), ENTRY)
    with QueueReader(files) as queue:
        # As a rule they are all in one row.
        bounds = [0, *(np.flatnonzero(np.diff(offsets) != 1) + 1).tolist(), len(offsets)]
        for first, last in itertools.pairwise(bounds):
            low = int(offsets[first])
            for start, entries in queue.blocks(low, low + last - first):
                at = first + start - low
                found[at : at + len(entries)] = entries
    return found


def is_of(entries: NDArray[Any], records: RecordColumns, some: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each entry leads to its record of `some`: to the place and the size of it."""
    same: NDArray[np.bool_] = entries["physical_offset"] == records.physical_offset[some]
    same &= entries["size"] == records.size[some]
    return same
