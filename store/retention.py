"""Retention: which files of a store have expired, by Apache's rules, and removing them.

The oldest file of the commit log is removed when it is older than the retention time and one of these holds: it is the
hour of deletion, the disk is fuller than `max_used`, or an administrator requests it. On a disk fuller than
`clean_forcibly` it is removed at any age; on one fuller than `warning` nothing is appended either. The file that is
being written always stays. Files of consume queues and of the index follow once all their messages are removed, but
never the newest of a queue or of the index, which holds the next offset. A stop at any point of this leaves a store
that opens: entries that point into removed files are skipped.

A file's age counts from the first message behind it, which was stored when the file was full. Apache uses the
modification time, which is that of the last message in the file, but also changes with a copy. So no message expires
early here; if nothing was sent for a while after a file was full, it stays that much longer than Apache's. If the next
file does not begin with a record (it is damaged, or was filled by a repair), or with one from the future (the clock was
wrong), the file after that one is used, and so on; if there is none, the modification time.

Removing a large file waits for the disk, and so does making a removal durable, without which a power cut could bring
back an older file and leave a gap. Both may run in a thread; everything else belongs to the appending thread.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.segment import Segment
from rocketwire.store.index.key_index import KeyIndex
from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.queues.queues import QueueTable
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.facts.record import MAGIC_AT, MAGIC_V1, MAGIC_V2, PHYSICAL_OFFSET_AT, SMALLEST_RECORD
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX, SCHEDULE_TOPIC, TIMER_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC

if TYPE_CHECKING:
    from rocketwire.store.index.index_file import IndexFile  # it takes numpy with it

log = logging.getLogger(__name__)

#: Log files that one pass removes at most.
MOST_FILES: Final = 10
#: Topics whose queues always stay: the broker keeps offsets of them, so these must not begin again at 0.
_OWN: Final = frozenset({SCHEDULE_TOPIC, TIMER_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRules:
    """When files go: `hours` of the day (0 to 23), parts of the disk from 0 to 1."""

    hours: frozenset[int]
    max_used: float
    clean_forcibly: float
    warning: float
    forcibly_enabled: bool


class DiskUsage(NamedTuple):
    """How full the disks of commit log, consume queues and index are, from 0 to 1."""

    commit_log: float
    consume_queues: float
    index_files: float

    @property
    def fullest(self) -> float:
        """The largest usage of the disks that appending needs."""
        return max(self.commit_log, self.consume_queues)

    def __str__(self) -> str:
        """The text that Apache sends to producers."""
        return f"CL: {self.commit_log:5.2f} CQ: {self.consume_queues:5.2f} INDEX: {self.index_files:5.2f}"


class CleaningDecision(NamedTuple):
    """The result of the rules: remove expired files; ignore their age; append nothing."""

    clean: bool
    forcibly: bool
    full: bool


def decide_cleaning(rules: RetentionRules, used: float, *, hour: int, requested: bool) -> CleaningDecision:
    """Apply the rules to a disk usage (0 to 1) at an hour of the day; `requested`: by an administrator."""
    pressed = used > rules.clean_forcibly or used > rules.warning
    return CleaningDecision(
        clean=requested or pressed or used > rules.max_used or hour in rules.hours,
        forcibly=pressed and rules.forcibly_enabled,
        full=used > rules.warning,
    )


class Retention:
    """Removes expired files of one store."""

    def __init__(
        self,
        settings: StoreSettings,
        commit_log: CommitLog,
        queues: QueueTable,
        index: KeyIndex | None,
        files: FileSystem,
    ) -> None:
        self._settings = settings
        self._log = commit_log
        self._queues = queues
        self._index = index
        self._files = files

    def disk_usage(self) -> DiskUsage:
        """How full the disks are. Safe in a thread, for it may wait for a network's disk."""
        settings = self._settings
        commit_log, consume_queues = self._files.usage(settings.commit_log), self._files.usage(settings.consume_queues)
        return DiskUsage(commit_log, consume_queues, self._files.usage(settings.index))

    def disk_space(self) -> tuple[int, int]:
        """The bytes of the store's disk: all, and those free. Safe in a thread."""
        return self._files.space(str(self._settings.root))

    @property
    def log_start(self) -> int:
        """Physical offset of the oldest file of the log."""
        return self._log.start

    # --- the commit log ---

    def detach_log_file(self, now: int, reserved: int, *, forcibly: bool) -> Segment | None:
        """Take the oldest file out of the log if it is older than `reserved` ms, or `forcibly`; None when none may go.

        From then on it is not read. Its `remove` and then `sync_log` may run in a thread; if `remove` fails, call
        `reattach_log_file`.
        """
        oldest = self._log.segments.first
        if oldest is None or oldest.end >= self._log.position:
            return None
        if not forcibly:
            full_since = self._full_since(oldest, now)
            if full_since is None or now < full_since + reserved:
                return None
        return self._log.segments.detach_first()

    def _full_since(self, oldest: Segment, now: int) -> int | None:
        """When a file was full, by the first file behind it that shows it; None when none does."""
        for segment in self._log.segments:
            if segment is not oldest:
                stored = self._store_time_at(segment.start)
                if stored is not None and 0 < stored <= now:
                    return stored
        modified = self._files.modified(oldest.path)
        return modified if modified is not None and modified <= now else None

    def _store_time_at(self, offset: int) -> int | None:
        head = self._log.read(offset, SMALLEST_RECORD)
        if head is None or int.from_bytes(head[MAGIC_AT : MAGIC_AT + 4], signed=True) not in (MAGIC_V1, MAGIC_V2):
            return None
        if int.from_bytes(head[PHYSICAL_OFFSET_AT : PHYSICAL_OFFSET_AT + 8]) != offset:
            return None
        return store_timestamp(head)

    def reattach_log_file(self, segment: Segment) -> None:
        """Put a file back into the log that could not be removed."""
        self._log.segments.reattach(segment)

    def sync_log(self) -> None:
        """Make the removal of a log file durable. Blocking; safe in a thread."""
        self._log.segments.sync_removal()

    # --- what points into the log ---

    def queues(self) -> Iterator[ConsumeQueue]:
        """The queues there are now."""
        return iter(list(self._queues))

    def _current(self, queue: ConsumeQueue) -> bool:
        """Whether the queue was not removed meanwhile."""
        return self._queues.by_key.get(queue.key) is queue

    def remove_queue_file(self, queue: ConsumeQueue) -> bool:
        """Update a queue's minimum to the start of the log, and remove its oldest file if all its messages are removed.

        True when a file was removed: `sync_queue` makes that durable, then there may be another. The newest stays.
        """
        if not self._current(queue):
            return False
        queue.correct_min(self._log.start)
        return queue.remove_expired_file()

    def sync_queue(self, queue: ConsumeQueue) -> None:
        """Make the removal of a queue's file durable. Blocking; safe in a thread."""
        if self._current(queue):
            self._files.sync_directory(queue.directory)

    def detach_index_files(self) -> Sequence[IndexFile]:
        """Take the index files whose messages are all removed out of the index, but not the newest.

        Their `remove` may run in a thread. One that fails leaves a file that the next start finds again.
        """
        return () if self._index is None else self._index.detach_before(self._log.start)

    # --- at the request of an administrator ---

    def expired_queues(self) -> Iterator[ConsumeQueue | None]:
        """The queues without messages, but those of delays and transactions; None for each other.

        The next message of a removed one gets offset 0. Like `unused_queues`, the iterator may be continued at any time
        later, and then gives only queues for which this still holds.
        """
        for queue in self.queues():
            expired = queue.key[0] not in _OWN and 0 <= queue.physical_end() < self._log.start
            yield queue if expired and self._current(queue) else None

    def unused_queues(self, used: Container[str]) -> Iterator[ConsumeQueue | None]:
        """The queues of topics that are not among those, apart from those of delays, transactions and light ones.

        None for each other.
        """
        for queue in self.queues():
            topic = queue.key[0]
            kept = topic in used or topic in _OWN or topic.startswith(LIGHT_QUEUE_PREFIX)
            yield queue if self._current(queue) and not kept else None

    def queues_of(self, topic: str) -> Iterator[ConsumeQueue | None]:
        """The queues of one topic; None for each other."""
        for queue in self.queues():
            yield queue if queue.key[0] == topic and self._current(queue) else None

    def remove_queue(self, queue: ConsumeQueue) -> None:
        """Remove a queue with its files.

        Raises:
            OSError: a file cannot be removed; the queue keeps it and those after it.
        """
        self._queues.remove(queue)
