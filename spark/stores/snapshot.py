"""Snapshots of stores, taken when a read is planned: later messages do not belong to the read.

The commit log ends behind its last whole record (`log_end`), each queue with the last entry that points to a record
before that. In a store at rest entries are trusted, so that one that points outside the log is detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from rocketwire.spark.files.far import in_slices
from rocketwire.spark.request.options import ReadOptions
from rocketwire.spark.request.ranges import requested_range
from rocketwire.spark.stores.log_end import log_end
from rocketwire.spark.stores.lost_tail import LostTail, lost_tail
from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.read.config import topic_names
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory, StoreState
from rocketwire.store.offline.read.log import LogFileReader, RecordBlock
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE, QueueReader


class StoreSnapshot:
    """One store at one moment.

    Attributes:
        broker: Name of its broker.
        directory: Its files.
        start, end: Physical offsets: where the commit log's first file begins, and where its last whole record ends.
    """

    def __init__(self, broker: str, directory: StoreDirectory) -> None:
        """Take a snapshot of the store.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        self.broker = broker
        self.directory = directory
        self.start = directory.start
        self._files = {(files.topic, files.queue_id): files for files in directory.queues if files.files}
        self._log_end = log_end(directory)
        self.end = max(self.start, self._log_end.offset)
        self._bounds: dict[tuple[str, int], tuple[int, int]] = {}

    @cached_property
    def lost_tail(self) -> LostTail | None:
        """The missing part at the log's end; None if nothing is missing, or if it cannot be known.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        return lost_tail(self.directory, self._log_end, complete=self.queues_complete)

    @property
    def queues_complete(self) -> bool:
        """Whether consume queues point to every message: not after a crash, nor with 5.x's other kinds of queues."""
        directory = self.directory
        return (
            directory.state in (StoreState.LIVE, StoreState.AT_REST)
            and bool(self._files)
            and not any(queue.files for queue in directory.batch_queues)
            and not any("consumequeue" in name.lower() for name in directory.others)
        )

    def queue_files(self) -> Iterator[QueueFiles]:
        """The consume queues that have files, by topic and number."""
        return iter(self._files.values())

    def has_queues(self, topic: str) -> bool:
        """Whether a topic has a consume queue."""
        return any(topic == found for found, _ in self._files)

    def topics(self) -> set[str] | None:
        """The existing topics; None if the store has no list of them."""
        try:
            found = topic_names(self.directory)
        except StoreUnreadable:
            found = set(self.directory.topics)
        found.update(queue.topic for queue in self.directory.batch_queues)
        return found or None

    def files_of(self, topic: str, queue_id: int) -> QueueFiles | None:
        """The files of a consume queue; None when it has none."""
        return self._files.get((topic, queue_id))

    def queue(self, topic: str, queue_id: int) -> QueueReader:
        """A consume queue, open.

        Raises:
            KeyError: there is none.
            StoreUnreadable: a file cannot be read.
        """
        return QueueReader(self._files[topic, queue_id], log_start=self.start)

    def bounds(self, topic: str, queue_id: int) -> tuple[int, int]:
        """Queue offsets: of the first message that is in the log, and behind the last one; 0 and 0 without a queue.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        key = topic, queue_id
        if key not in self._files:
            return 0, 0
        if key not in self._bounds:
            self._bounds[key] = self._bounds_of(*key)
        return self._bounds[key]

    def _bounds_of(self, topic: str, queue_id: int) -> tuple[int, int]:
        with self.queue(topic, queue_id) as queue:
            return queue.min, self._end_of(queue)

    def _end_of(self, queue: QueueReader) -> int:
        if self.directory.state is StoreState.AT_REST or queue.end == queue.min:
            return queue.end
        try:
            # A broker may write an entry before its message, and a crash may lose the message and keep the entry.
            if queue.entry(queue.end - 1)[0] < self.end:
                return queue.end
            return queue.bisect(queue.min, queue.end, lambda entry: entry[0] < self.end or entry[1] == BLANK_SIZE)
        except FileGone:
            return queue.end

    def selected(self, options: ReadOptions) -> dict[tuple[str, int], tuple[int, int]]:
        """The queues that options select, with the requested offsets that exist.

        Light queues of 5.x, which point to messages of other topics, are selected by name only.

        Raises:
            StoreUnreadable: a file cannot be read.
            DataLost: a requested offset does not exist, and options make this an error.
        """
        return {
            (topic, queue_id): requested_range(options, self.broker, topic, queue_id, bounds)
            for (topic, queue_id), bounds in self.selected_bounds(options).items()
        }

    def selected_bounds(self, options: ReadOptions) -> dict[tuple[str, int], tuple[int, int]]:
        """The queues that options select, each with the offsets it has: see `bounds`.

        Raises:
            StoreUnreadable: a file cannot be read.
        """
        topics = {topic for topic in self.directory.topics if options.takes_topic(topic)}
        queues = options.queues
        wanted = [key for key in self._files if key[0] in topics and (queues is None or key[1] in queues)]
        new = [key for key in wanted if key not in self._bounds]
        found = in_slices(self.directory.files, lambda some: [self._bounds_of(*key) for key in some], new)
        self._bounds.update(zip(new, found, strict=True))
        return {key: self._bounds[key] for key in wanted}


def is_lagging(store: StoreSnapshot, topic: str, queue_id: int) -> bool:
    """Whether the log has messages of a queue behind that of its last entry.

    A broker that starts after a crash clears queues and fills them again. Meanwhile a queue has fewer entries than
    before; the messages are not lost as long as the log has them. The log is walked from the queue's last message on.

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
