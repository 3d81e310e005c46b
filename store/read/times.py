"""Store times of messages, and searching a queue by store time.

The file of the queue is chosen by the store time of each file's last message. Apache uses the files' modification times
for that, which a copy or a late write-back changes; inside the file the search is Apache's.
"""

from __future__ import annotations

from rocketwire.store.layout.record import SMALLEST, store_timestamp
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue


def store_time(log: CommitLog, queue: ConsumeQueue, offset: int) -> int:
    """Store time in ms of a message, -1 when it is not there."""
    if not queue.min <= offset < queue.end:
        return -1
    physical_offset, size, _ = queue.entry(offset)
    record = log.read(physical_offset, size)
    return -1 if record is None or size < SMALLEST else store_timestamp(record)


def offset_by_time(log: CommitLog, queue: ConsumeQueue, timestamp: int) -> int:
    """Offset of the message stored at a time in ms, or of the one nearest to it in its file; 0 in an empty queue.

    A time after the last message gives the last message (4.9.7), one before the first the first.
    """
    if queue.end <= queue.min:
        return 0
    low, high = queue.min, queue.end
    for start in queue.file_starts():
        stop = min(queue.file_range(start)[1], queue.end)
        if stop <= queue.min:
            continue
        low, high = max(start, queue.min), stop
        if store_time(log, queue, stop - 1) >= timestamp:
            break
    return _nearest(log, queue, low, high - 1, timestamp)


def _nearest(log: CommitLog, queue: ConsumeQueue, low: int, high: int, timestamp: int) -> int:
    before = after = -1
    time_before = time_after = -1
    while low <= high:
        middle = (low + high) // 2
        stored = store_time(log, queue, middle)
        if stored < 0:
            return 0
        if stored == timestamp:
            return middle
        if stored > timestamp:
            high = middle - 1
            after, time_after = middle, stored
        else:
            low = middle + 1
            before, time_before = middle, stored
    if before < 0:
        return after
    if after < 0:
        return before
    return after if timestamp - time_before > time_after - timestamp else before
