"""Limits a micro-batch: by number of messages, by their bytes, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows

from rocketwire.spark.plan.entries import Entries, range_of
from rocketwire.spark.plan.partitions import QueueRange
from rocketwire.spark.plan.planning import weight_of, whole_queue
from rocketwire.spark.request.options import ReadOptions
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.spark.stream.offsets import BrokerQueue, Offsets, Ranges, shares
from rocketwire.store.offline.read.log import CommitLogReader

#: Number of entries whose sizes are added up at once.
_BLOCK: Final = 16 * 1024


def default_limit(options: ReadOptions) -> ReadLimit:
    """The limit of a micro-batch by the options, as reported to Spark: of two limits the number of messages."""
    if options.max_offsets_per_trigger is not None:
        return ReadMaxRows(options.max_offsets_per_trigger)
    if options.max_bytes_per_trigger is not None:
        return ReadMaxBytes(options.max_bytes_per_trigger)
    return ReadAllAvailable()


def limits(options: ReadOptions, limit: ReadLimit) -> tuple[int | None, int | None]:
    """How many messages, and how many bytes of their records, a micro-batch takes at most; None for any number."""
    rows, size = options.max_offsets_per_trigger, options.max_bytes_per_trigger
    if isinstance(limit, ReadMaxRows):
        rows = limit.max_rows if rows is None else min(rows, limit.max_rows)
    if isinstance(limit, ReadMaxBytes):
        size = limit.max_bytes if size is None else min(size, limit.max_bytes)
    return rows, size


def admitted(stores: Sequence[StoreSnapshot], ranges: Ranges, rows: int | None, size: int | None) -> Offsets:
    """Where each range ends when no more than so many messages, and so many bytes of them, are taken of all.

    The message that has waited longest is taken in any case, so that none waits without end, even if it is larger than
    the limit or in a small queue. The rest is divided among the queues in proportion to their unread messages.

    Args:
        stores: The stores with the queues.
        ranges: Of each queue the first offset and the one behind the last.
        rows: Messages to take at most; None for any number.
        size: Bytes of their records to take at most; None for any number.

    Raises:
        StoreUnreadable: a file of a queue cannot be read.
    """
    ends = {queue: end for queue, (_, end) in ranges.items()}
    opened = {store.broker: store for store in stores}
    waiting = {
        queue: range_of(whole, first, end)
        for queue, (first, end) in ranges.items()
        if first < end and (whole := whole_queue(opened[queue.broker], queue.topic, queue.queue_id)) is not None
    }
    if not waiting:
        return ends
    oldest = _oldest(opened, waiting)
    if rows is not None:
        lengths = {queue: found.end - found.first - (queue == oldest) for queue, found in waiting.items()}
        parts = shares(lengths, max(0, rows - 1))
        waiting = {
            queue: range_of(found, found.first, found.first + parts[queue] + (queue == oldest))
            for queue, found in waiting.items()
        }
    taken = {queue: found.end for queue, found in waiting.items()}
    return ends | (taken if size is None else _by_size(waiting, size, oldest))


def _oldest(stores: Mapping[str, StoreSnapshot], waiting: Mapping[BrokerQueue, QueueRange]) -> BrokerQueue:
    """The queue whose next message was stored first."""
    first: dict[str, tuple[int, BrokerQueue]] = {}
    for queue, found in waiting.items():
        with Entries(found) as entries:
            begins = entries.entry(found.first)[0], queue
        first[queue.broker] = min(begins, first.get(queue.broker, begins))
    times = []
    for broker, (place, queue) in first.items():
        with CommitLogReader(stores[broker].directory.commit_log) as log:
            times.append((log.store_time(place) or 0, queue))
    return min(times)[1]


def _by_size(waiting: Mapping[BrokerQueue, QueueRange], size: int, oldest: BrokerQueue) -> Offsets:
    taken = {queue: found.end for queue, found in waiting.items()}
    with Entries(waiting[oldest]) as entries:
        _, own, _ = entries.written(waiting[oldest].first, waiting[oldest].first + 1)
    size = max(0, size - int(own["size"].sum()))
    rest = {
        queue: range_of(found, found.first + (queue == oldest), found.end)
        for queue, found in waiting.items()
        if found.first + (queue == oldest) < found.end
    }
    parts = shares({queue: weight_of(found) for queue, found in rest.items()}, size)
    for queue, found in rest.items():
        with Entries(found) as entries:
            taken[queue] = _end_within(entries, found.first, found.end, parts[queue])
    return taken


def _end_within(entries: Entries, first: int, end: int, size: int) -> int:
    """The offset up to which the messages of a queue take so many bytes at most."""
    at = first
    while at < end:
        offsets, found, _ = entries.written(at, min(end, at + _BLOCK))
        sums = np.cumsum(found["size"], dtype=np.int64)
        if len(sums) and sums[-1] > size:
            return int(offsets[np.searchsorted(sums, size, "right")])
        size -= int(sums[-1]) if len(sums) else 0
        at = min(end, at + _BLOCK)
    return end
