"""Records of the log, taken apart by their consume queues."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.columns import Records
from rocketwire.wire.codes import SysFlag


def by_queue(
    records: Records, topics: NDArray[np.int32], names: list[str]
) -> Iterator[tuple[str, int, NDArray[np.intp]]]:
    """Topic and number of each queue, and the numbers of its records in their order.

    Prepared and rolled back messages have no entries, and are left out.

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
