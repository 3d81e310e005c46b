"""The read operations of an open store: offsets, messages, store times, and records by key.

Nothing here changes the store except `query`, which first indexes what was just appended.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import NamedTuple

from rocketwire.store.index.key_index import KeyIndex
from rocketwire.store.index.query import QueryResult, query
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.log.log_scan import ScanResult, file_before, scan
from rocketwire.store.queues.queues import QueueTable
from rocketwire.store.read.fetch import ANY_TEXT, FetchLimits, FetchResult, fetch
from rocketwire.store.read.times import offset_by_time, store_time


class LogPart(NamedTuple):
    """The written part of a file of the log, between two physical offsets; the data begin at `start`."""

    data: mmap.mmap
    start: int
    end: int


class StoreReader:
    """The reading half of a store, over its log, queues and index (None: it keeps none)."""

    def __init__(self, log: CommitLog, queues: QueueTable, index: KeyIndex | None, limits: FetchLimits) -> None:
        self._log = log
        self._queues = queues
        self._index = index
        self._limits = limits

    @property
    def log(self) -> CommitLog:
        """The commit log."""
        return self._log

    @property
    def queues(self) -> QueueTable:
        """All consume queues."""
        return self._queues

    def topics(self) -> set[str]:
        """Topics that have a consume queue."""
        return {topic for topic, _ in self._queues.by_key}

    def queue_ids(self, topic: str) -> list[int]:
        """The queues of a topic that have a consume queue, in no order."""
        return [queue_id for name, queue_id in self._queues.by_key if name == topic]

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Offset of a queue's next message; 0 for a queue that does not exist."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.end if queue is not None else 0

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Offset of a queue's oldest message; 0 for a queue that does not exist."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.min if queue is not None else 0

    @property
    def min_physical_offset(self) -> int:
        """Where the oldest record that is kept begins, or its file."""
        return self._log.start

    @property
    def max_physical_offset(self) -> int:
        """Physical offset of the next record."""
        return self._log.position

    @property
    def index_behind(self) -> int:
        """Bytes at the end of the log that are not in the index yet; 0 where nothing is indexed."""
        return 0 if self._index is None else self._index.bytes_behind

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        max_bytes: int | None = None,
        accept: Callable[[int], bool] | None = None,
        matches: Callable[[bytes], bool] | None = None,
        most_text: int = ANY_TEXT,
    ) -> FetchResult:
        """Messages of a queue from an offset on, with 4.9.7's semantics: see `fetch.fetch`.

        Args:
            topic: The topic.
            queue_id: Its queue.
            offset: Queue offset of the first message wanted.
            max_count: The most messages, at least one; the settings' limits apply too.
            max_bytes: The most bytes, but always one message; None for the settings' limit.
            accept: Called with each message's tags code; None accepts all.
            matches: Called with the property text of each message that `accept` accepts; None accepts all.
            most_text: Bytes of property text that one call may read, with a fixed amount added for each message; at
                least one message is read.
        """
        queue = self._queues.by_key.get((topic, queue_id))
        limits = self._limits if max_bytes is None else self.limits(max_bytes)
        return fetch(self._log, queue, offset, max_count, limits, accept, matches, most_text)

    def limits(self, max_bytes: int) -> FetchLimits:
        """The bounds of a result that has `max_bytes` at most."""
        limits = self._limits
        if max_bytes == limits.bytes_in_memory:
            return limits
        return FetchLimits(
            memory=limits.memory,
            count_in_memory=limits.count_in_memory,
            bytes_in_memory=max_bytes,
            count_on_disk=limits.count_on_disk,
            bytes_on_disk=min(max_bytes, limits.bytes_on_disk),
        )

    def record_at(self, physical_offset: int, size: int | None = None) -> memoryview | None:
        """The record at a place in the log; None when none can begin there.

        Without `size` it has the size in its head. Only its first fields are checked: a caller that did not get the
        place from the store decodes it with all checks.
        """
        return self._log.record_at(physical_offset, size)

    def log_part(self, physical_offset: int) -> LogPart | None:
        """The file of the log that holds a physical offset, to read many records; None when it is not there."""
        segment = self._log.segments.find(physical_offset)
        return (
            None if segment is None else LogPart(segment.mapping, segment.start, min(self._log.position, segment.end))
        )

    def place(self, key: tuple[str, int], offset: int) -> int | None:
        """Physical offset of a message of a queue (topic and queue id); None when it has none at the queue offset."""
        queue = self._queues.by_key.get(key)
        return None if queue is None else queue.place(offset)

    def newest_record(self) -> memoryview | None:
        """The last record of the log; None when it is not a consumer's message, or the log ends with a file."""
        for queue in self._queues:
            if queue.physical_end() == self._log.position:
                return self.record_at(queue.newest_place())
        return None

    def queue_entries(self, topic: str, queue_id: int, offset: int, most: int) -> tuple[int, bytes]:
        """The entries of a queue from an offset on, `most` at most and all of one file, and the offset of the first.

        That offset differs from `offset` if there is no entry, or not any more. No entries: the queue ends there.
        """
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return 0, b""
        offset = min(max(offset, queue.min), queue.end)
        while offset < queue.end:
            entries = queue.entries(offset, most)
            if entries is not None:
                return offset, bytes(entries)
            offset = queue.file_range(offset)[1]
        return queue.end, b""

    def scan(self, offset: int, end: int, needle: bytes) -> ScanResult:
        """Some of the log's records between two physical offsets that contain certain bytes: see `log_scan.scan`."""
        return scan(self._log, offset, end, needle)

    def file_before(self, timestamp: int) -> int:
        """Physical offset from which the messages stored at a time in ms or later can be read."""
        return file_before(self._log, timestamp)

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """Store time in ms of a message, -1 when it is not there."""
        queue = self._queues.by_key.get((topic, queue_id))
        return -1 if queue is None else store_time(self._log, queue, queue_offset)

    def earliest_time(self, topic: str, queue_id: int) -> int:
        """Store time in ms of a queue's oldest message, -1 when it has none."""
        queue = self._queues.by_key.get((topic, queue_id))
        return -1 if queue is None else store_time(self._log, queue, queue.min)

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int) -> int:
        """Offset of the first message stored at a time in ms or later: see `times.offset_by_time`."""
        queue = self._queues.by_key.get((topic, queue_id))
        return 0 if queue is None else offset_by_time(self._log, queue, timestamp)

    def query(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> QueryResult:
        """Records with a key, stored between two times.

        Keys are compared by their hash only: the caller must compare the real ones, as Apache's client does. A message
        that was just appended is found; while very many are not indexed yet, as after a crash, only what is indexed so
        far: no query waits for all of that.
        """
        if self._index is None:
            return QueryResult(records=[], index_last_update_timestamp=0, index_last_update_offset=0)
        return query(self._index, self.record_at, topic, key, most=max_count, begin=begin_ms, end=end_ms)
