"""The table of all consume queues: loaded at start, extended at the first message of a queue, few of them mapped."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.foreign import LOST_AND_FOUND, log_ignored
from rocketwire.store.errors import StoreError, TopicUnusable
from rocketwire.store.event import Event
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.facts.record import MAX_TOPIC_LENGTH_V1
from rocketwire.wire.names import DEAD_LETTER_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC

#: Bytes of a directory's name.
MAX_NAME_BYTES: Final = 255
#: Queues whose counts are taken at once.
_COUNTED: Final = 1024


def is_directory_name(topic: str, longest: int) -> bool:
    """Whether a topic can be the name of a directory; in a damaged log a topic may be any bytes."""
    return 0 < len(topic.encode()) <= longest and topic not in {".", ".."} and "/" not in topic


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


class QueueTable:
    """The queues by (topic, queue id).

    A mapped queue takes one or two mappings, so at most half of those that the process may have are used; the queue
    mapped longest ago is parked.

    Attributes:
        removed: Called after a queue was removed, or was begun to be.
    """

    def __init__(self, settings: StoreSettings, files: FileSystem) -> None:
        self.by_key: dict[tuple[str, int], ConsumeQueue] = {}
        self.dirty: set[ConsumeQueue] = set()
        #: Topics whose directory held nothing at the start.
        self.empty_topics: set[str] = set()
        #: Topics whose queues 5.x counts in batches: this broker does not use them.
        self.batch_topics: frozenset[str] = frozenset()
        self.on_queue_removed = Event[[]]()
        self._settings = settings
        self._files = files
        self._mapped: OrderedDict[ConsumeQueue, None] = OrderedDict()
        self._most_mapped = max(1, files.mappings() // 4)

    def load(self, *, log_start: int, clean: bool) -> None:
        """Find all queues of a log that starts at `log_start`.

        Directories that are not a queue's (no number) are ignored, as by Apache.

        Raises:
            StoreForeign: a queue holds a file that does not belong there.
        """
        root = self._settings.consume_queues
        batches = self._settings.batch_consume_queues
        self.batch_topics = frozenset(
            topic
            for topic in self._files.directories(batches)
            if any(map(_is_number, self._files.names(f"{batches}/{topic}")))
        )
        topics = [name for name in self._files.directories(root) if name != LOST_AND_FOUND]
        log_ignored(root, sorted({*self._files.names(root)} - {*topics}))
        for topic in topics:
            if topic in self.batch_topics:
                continue
            names = self._files.names(f"{root}/{topic}")
            if not names:
                self.empty_topics.add(topic)
            for name in names:
                if _is_number(name):
                    queue = self._new((topic, int(name)))
                    queue.load(log_start=log_start, clean=clean)
                    self.by_key[queue.key] = queue

    def _new(self, key: tuple[str, int]) -> ConsumeQueue:
        topic, queue_id = key
        delay = None
        if topic == SCHEDULE_TOPIC:
            levels = self._settings.delay_levels
            delay = levels[queue_id] if 0 <= queue_id < len(levels) else 1000
        return ConsumeQueue(
            key,
            f"{self._settings.consume_queues}/{topic}/{queue_id}",
            self._settings.consume_queue_file_size,
            self._files,
            delay=delay,
            on_map=self._note_mapped,
        )

    def _note_mapped(self, queue: ConsumeQueue) -> None:
        self._mapped[queue] = None
        self._mapped.move_to_end(queue)
        if len(self._mapped) > self._most_mapped:
            oldest, _ = self._mapped.popitem(last=False)
            oldest.unmap()

    def accepts_topic(self, topic: str) -> bool:
        """Whether a topic of the log may have consume queues."""
        return is_directory_name(topic, MAX_NAME_BYTES) and topic not in self.batch_topics

    def physical_start(self, topic: str) -> int:
        """Physical offset of the oldest message in the queues of a topic; -1 when they have none."""
        queues = [queue for (name, _), queue in self.by_key.items() if name == topic and queue.end > queue.first_offset]
        return min((queue.entry(queue.first_offset)[0] for queue in queues), default=-1)

    def create(self, topic: str, queue_id: int, *, longest: int | None = None) -> ConsumeQueue:
        """A new, empty queue; its files are made by its first entry.

        A topic has `longest` bytes at most, or what records of version 1 can hold: a broker of 4.9 would not open a
        store with longer ones. Topics of retried messages and dead letters, and a topic that has a queue already, may
        be as long as a directory's name, as with 5.x.

        Raises:
            TopicUnusable: no directory, or no record, can have such a topic; or it has queues of 5.x's batches.
        """
        if topic in self.batch_topics:
            raise TopicUnusable(topic, "its queues are 5.x's of batches (CQType BatchCQ)")
        if longest is None:
            longest = MAX_NAME_BYTES if topic.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX)) else MAX_TOPIC_LENGTH_V1
        if not is_directory_name(topic, longest) and not (
            is_directory_name(topic, MAX_NAME_BYTES) and self._has(topic)
        ):
            raise TopicUnusable(topic)
        queue = self._new((topic, queue_id))
        self.by_key[topic, queue_id] = queue
        return queue

    def _has(self, topic: str) -> bool:
        return any(known == topic for known, _ in self.by_key)

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter(self.by_key.values())

    def __len__(self) -> int:
        return len(self.by_key)

    def has_new_counts(self, topic: str, queues: int) -> bool:
        """Whether one of a topic's queues, the first so many, has counts that were not taken yet."""
        found = (self.by_key.get((topic, queue_id)) for queue_id in range(queues))
        return any(queue is not None and queue.arrived for queue in found)

    def take_counts(self) -> Iterator[list[tuple[str, int, int]]]:
        """Take the counts of what was appended since the last call: topics, messages and bytes of their queues.

        They come in parts, between which the caller may yield to others. A part takes 0.2 ms if all its queues grew.
        """
        queues = list(self)
        for first in range(0, len(queues), _COUNTED):
            found = []
            for queue in queues[first : first + _COUNTED]:
                if queue.arrived:
                    found.append((queue.key[0], queue.arrived, queue.arrived_bytes))
                    queue.arrived = queue.arrived_bytes = 0
            yield found

    def physical_end(self) -> int:
        """The end of the newest record that a queue points to, -1 when all are empty."""
        return max((queue.physical_end() for queue in self), default=-1)

    def truncate(self, physical_offset: int) -> None:
        """Truncate every queue to the messages before a physical offset."""
        for queue in self:
            if queue.truncate(physical_offset):
                self.dirty.add(queue)

    def correct_min(self, log_start: int) -> None:
        """Update every queue's minimum to the start of the log."""
        for queue in self:
            queue.correct_min(log_start)

    def flush(self, least_bytes: int) -> None:
        """Flush the queues with at least so many unflushed bytes. Safe in a thread."""
        done: set[str] = set()
        for queue in sorted(self.dirty, key=lambda queue: queue.key):
            if queue.dirty_bytes < least_bytes:
                continue
            # Removed first: an entry that comes during the flush adds it again.
            self.dirty.discard(queue)
            try:
                queue.flush(done)
            except (OSError, StoreError):
                if self.by_key.get(queue.key) is queue:  # else it was removed meanwhile
                    self.dirty.add(queue)
                    raise

    def remove(self, queue: ConsumeQueue) -> None:
        """Remove a queue with its files; the next message of its topic and number begins a new one.

        Raises:
            OSError: a file cannot be removed; the queue keeps it and those after it.
        """
        self._mapped.pop(queue, None)
        try:
            queue.remove()
        finally:
            self.on_queue_removed()
        del self.by_key[queue.key]
        self.dirty.discard(queue)
        self._files.remove_directory(queue.directory)
        self._files.remove_directory(f"{self._settings.consume_queues}/{queue.key[0]}")

    def remove_all(self) -> None:
        """Remove every queue: the log is empty."""
        for queue in list(self):
            self.remove(queue)

    def close(self) -> None:
        """Drop all mappings and descriptors."""
        self._mapped.clear()
        for queue in self:
            queue.unmap()
