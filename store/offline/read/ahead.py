"""The newest entries of consume queues, and entries that point behind the end of the commit log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory
from rocketwire.store.offline.read.log import RecordPlace
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE, QueueReader


class EntriesAhead(NamedTuple):
    """The entries of one queue that point at or behind a physical offset.

    Attributes:
        topic, queue_id: Which queue it is.
        offset: Queue offset of the first of them.
        entries: How many they are.
        first: Physical offset that the first one points to.
        end: Physical offset behind the record of the last.
    """

    topic: str
    queue_id: int
    offset: int
    entries: int
    first: int
    end: int


def newest_entries(
    directory: StoreDirectory, queues: Iterable[QueueFiles]
) -> Iterator[tuple[QueueReader, RecordPlace]]:
    """The newest entry of each queue that has one whose message the log may have; the queue is open until the next.

    Raises:
        StoreUnreadable: a file cannot be read. (One that was removed is skipped.)
    """
    for files in queues:
        if files.files:
            with QueueReader(files, log_start=directory.start) as queue:
                try:
                    if queue.end > queue.min:
                        yield queue, RecordPlace(*queue.entry(queue.end - 1)[:2])
                except FileGone:
                    continue


def entries_ahead(directory: StoreDirectory, queues: Iterable[QueueFiles], end: int) -> Iterator[EntriesAhead]:
    """The entries that lead to a physical offset or behind it, of each of these queues that has such.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    for queue, newest in newest_entries(directory, queues):
        if newest.physical_offset >= end:
            offset = queue.bisect(queue.min, queue.end - 1, lambda entry: entry[0] < end or entry[1] == BLANK_SIZE)
            first = queue.entry(offset)[0]
            yield EntriesAhead(queue.topic, queue.queue_id, offset, queue.end - offset, first, newest.end)
