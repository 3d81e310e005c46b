"""Whether a queue is being rebuilt: a broker that starts after a crash clears queues and fills them again.

Meanwhile a queue has fewer entries than before. The messages are not lost as long as the log has them.
"""

from __future__ import annotations

import numpy as np

from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.offline.read.log import LogFileReader, RecordBlock
from rocketwire.store.offline.read.opening import FileGone


def is_lagging(store: StoreSnapshot, topic: str, queue_id: int) -> bool:
    """Whether the log has messages of a queue behind that of its last entry.

    The log is walked from the queue's last message on.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    most = store.bounds(topic, queue_id)[1]
    start = _last_place(store, topic, queue_id)
    for file in store.directory.commit_log:
        if file.end <= start or file.start >= store.end:
            continue
        try:
            with LogFileReader(file) as log:
                blocks = log.blocks(max(start, file.start), check_crc=False)
                if any(_has(block, topic.encode(), queue_id, most) for block in blocks):
                    return True
        except FileGone:
            continue
    return False


def _last_place(store: StoreSnapshot, topic: str, queue_id: int) -> int:
    first, end = store.bounds(topic, queue_id)
    if first == end:
        return store.start
    with store.queue(topic, queue_id) as queue:
        try:
            return max(store.start, queue.entry(end - 1)[0])
        except FileGone:
            return store.start


def _has(block: RecordBlock, topic: bytes, queue_id: int, least: int) -> bool:
    records = block.records
    chosen = np.flatnonzero((records.queue_id == queue_id) & (records.queue_offset >= least))
    places = zip(records.topic_position[chosen].tolist(), records.topic_length[chosen].tolist(), strict=True)
    return any(block.buffer[at : at + length] == topic for at, length in places)
