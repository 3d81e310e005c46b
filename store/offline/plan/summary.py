"""Summaries of a store in numbers: per queue, per consumer group, and of the commit log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rocketwire.store.offline.read.config import committed_offsets
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE, QueueReader, open_queues
from rocketwire.store.offline.read.scan import ReadProblem, is_written, scan
from rocketwire.wire.errors import WireError
from rocketwire.wire.message import decode_record


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSummary:
    """One consume queue: offsets of its first message and of its next one, the sizes of its messages' records in bytes.

    Store times are in ms, None without messages or where the log has no record.
    """

    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    messages: int
    bytes: int
    first_store_time: int | None
    last_store_time: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLag:
    """A queue that a group consumes: the group takes `offset` next, the queue's next message gets `max_offset`."""

    queue_id: int
    offset: int
    max_offset: int

    @property
    def lag(self) -> int:
        """How many messages the group has still to take."""
        return max(0, self.max_offset - self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """A consumer group and a topic it consumes: the queues that it committed an offset of."""

    group: str
    topic: str
    queues: tuple[QueueLag, ...]

    @property
    def lag(self) -> int:
        """How many messages the group has still to take, over these queues."""
        return sum(queue.lag for queue in self.queues)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """The commit log: from which physical offset to which it has records; store times (ms) of the first and the last.

    `troubles` are the reasons why its end could not be read.
    """

    start: int
    end: int
    first_store_time: int | None
    last_store_time: int | None
    troubles: tuple[ReadProblem, ...]


def queue_summaries(
    directory: StoreDirectory, wanted: Callable[[str], bool] = lambda _: True
) -> Iterator[QueueSummary]:
    """Each queue that has files, of the topics wanted, by topic and number.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    with CommitLogReader(directory.commit_log) as log:
        for queue in open_queues(directory, wanted):
            yield _queue_summary(queue, log)


def _queue_summary(queue: QueueReader, log: CommitLogReader) -> QueueSummary:
    messages = size = 0
    first: int | None = None
    last: int | None = None
    for _, entries in queue.blocks(queue.min, queue.end):
        real = entries[entries["size"] != BLANK_SIZE]
        if len(real):
            messages += len(real)
            size += int(real["size"].sum(dtype=np.int64))
            first = int(real["physical_offset"][0]) if first is None else first
            last = int(real["physical_offset"][-1])
    return QueueSummary(
        topic=queue.topic,
        queue_id=queue.queue_id,
        min_offset=queue.min,
        max_offset=queue.end,
        messages=messages,
        bytes=size,
        first_store_time=None if first is None else log.store_time(first),
        last_store_time=None if last is None else log.store_time(last),
    )


def group_lags(directory: StoreDirectory, wanted: Callable[[str], bool] = lambda _: True) -> list[GroupLag]:
    """The groups that committed offsets of the topics wanted, by group and topic.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    ends = {(queue.topic, queue.queue_id): queue.end for queue in open_queues(directory, wanted)}
    queues: dict[tuple[str, str], list[QueueLag]] = {}
    for one in committed_offsets(directory):
        if wanted(one.topic):
            end = ends.get((one.topic, one.queue_id), 0)
            lag = QueueLag(queue_id=one.queue_id, offset=one.offset, max_offset=end)
            queues.setdefault((one.group, one.topic), []).append(lag)
    return [GroupLag(group=group, topic=topic, queues=tuple(found)) for (group, topic), found in queues.items()]


def log_summary(directory: StoreDirectory, newest: int = 0) -> LogSummary:
    """The commit log's ends; the second is found by a walk from `newest`, the physical offset of a late record.

    If there is no whole record, as when a queue is damaged or the log's tail was lost in a crash, the walk begins at
    the last file with records.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    with CommitLogReader(directory.commit_log) as log:
        first = next((time for file in directory.commit_log if (time := log.store_time(file.start)) is not None), None)
        end = next((file.start for file in reversed(directory.commit_log) if is_written(file)), directory.start)
        if newest > end and _is_record(log, newest):
            end = newest
    last: int | None = None
    troubles: list[ReadProblem] = []
    for block in scan(directory, troubles.append, start=end):
        end, last = block.next, int(block.records.store_timestamp[-1])
    return LogSummary(
        start=directory.start, end=end, first_store_time=first, last_store_time=last, troubles=tuple(troubles)
    )


def _is_record(log: CommitLogReader, offset: int) -> bool:
    """Whether a whole record is at a physical offset."""
    try:
        data = log.record(offset)
        return data is not None and decode_record(data).physical_offset == offset
    except (FileGone, WireError):
        return False
