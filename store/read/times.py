"""Store times of messages, and searching a queue by store time.

The file of the queue is chosen by the store time of each file's last message. Apache 4.9.7 uses the files' modification
times for that, which a copy or a late write-back changes.
"""

from __future__ import annotations

from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.wire.facts.record import SMALLEST_RECORD


def store_time(log: CommitLog, queue: ConsumeQueue, offset: int) -> int:
    """Store time in ms of a message, -1 when it is not there."""
    if not queue.min <= offset < queue.end:
        return -1
    physical_offset, size, _ = queue.entry(offset)
    record = log.read(physical_offset, size)
    return -1 if record is None or size < SMALLEST_RECORD else store_timestamp(record)


def offset_by_time(log: CommitLog, queue: ConsumeQueue, timestamp: int) -> int:
    """Offset of the first message stored at a time in ms or later, as by 5.5.0; the queue's end if there is none.

    0 in an empty queue, and where a message that the search needs cannot be read, as by 4.9.7.
    """
    if queue.end <= queue.min:
        return 0
    for start in queue.file_starts():
        stop = min(queue.file_range(start)[1], queue.end)
        if stop > queue.min and store_time(log, queue, stop - 1) >= timestamp:
            return _first(log, queue, max(start, queue.min), stop - 1, timestamp)
    return queue.end


def _first(log: CommitLog, queue: ConsumeQueue, low: int, high: int, timestamp: int) -> int:
    """The first message from `low` on stored at a time or later; the one at `high` is."""
    while low < high:
        middle = (low + high) // 2
        stored = store_time(log, queue, middle)
        if stored < 0:
            return 0
        if stored < timestamp:
            low = middle + 1
        else:
            high = middle
    return low
