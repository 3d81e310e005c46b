"""The writer of the store: a group of drafts becomes records in the commit log, queue entries, and keys for the index.

Records are packed and written at once (`CommitLog.write`); the consume queue entries follow, so that a kill never
leaves an entry without its record. What makes room (for records, for entries, the next file) may drop mappings, so
what was packed before is written first. The kernel has the same writer in C; this one also writes what the kernel
refuses: drafts whose values are not of their declared types, and files that are not memory-mapped.

Drafts that belong together are in one file of the log: room for all of them is made at the first. They are the messages
of a batch, as Apache writes them, or messages of several queues (one each) that must be stored all or none: the end of
a transaction and its operation message. A batch also gets room in its queue for all entries that the file takes.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple
from zlib import crc32

from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import PropertiesTooLong
from rocketwire.store.index.key_column import PythonKeyColumn
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.queues.queues import QueueTable
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import BODY_CRC_MASK, MAX_PROPERTIES_LENGTH, RECORD_HEADS
from rocketwire.wire.hosts import HOST_V6_SIZE

_PROPERTIES_LENGTH: Final = struct.Struct(">h")


class _Entry(NamedTuple):
    """A record's entry in a consume queue."""

    queue: ConsumeQueue
    physical_offset: int
    size: int
    tags_code: int


class _Group:
    """Records that are packed and not written yet, with their entries."""

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self._records: list[bytes] = []
        self._entries: list[_Entry] = []
        self._entries_of: Counter[ConsumeQueue] = Counter()
        self.end = log.position
        """Physical offset of the next record."""

    def make_room(self, size: int) -> None:
        """Have room for `size` bytes in one file of the log."""
        if self.end + size > self._log.limit:
            self.publish()
            self._log.make_room(size)
            self.end = self._log.position

    def make_entry_room(self, queue: ConsumeQueue, count: int) -> None:
        """Have room for one more entry of a queue, and for `count` if its file takes them."""
        if queue.position + (self._entries_of[queue] + count) * ENTRY_SIZE > queue.limit:
            self.publish()
            queue.extend(count)

    def queue_offset(self, queue: ConsumeQueue) -> int:
        """That of the queue's next message."""
        return queue.end + self._entries_of[queue]

    def add(self, record: bytes, entry: _Entry | None) -> None:
        """Add a record, for which there is room."""
        self._records.append(record)
        self.end += len(record)
        if entry is not None:
            self._entries.append(entry)
            self._entries_of[entry.queue] += 1

    def publish(self) -> None:
        """Write the records, then their entries."""
        if self._records:
            self._log.write(b"".join(self._records))
        for queue, physical_offset, size, tags_code in self._entries:
            ENTRY_STRUCT.pack_into(queue.buffer, queue.position, physical_offset, size, tags_code)
            queue.position += ENTRY_SIZE
            queue.end += 1
            queue.arrived += 1
            queue.arrived_bytes += size
        self._records.clear()
        self._entries.clear()
        self._entries_of.clear()


class GroupWriter:
    """Appends to one store."""

    def __init__(self, log: CommitLog, queues: QueueTable, keys: PythonKeyColumn | None, store_host: bytes) -> None:
        self._log = log
        self._queues = queues
        self._keys = keys
        self._store_host = store_host
        self._host_bit = SysFlag.STORE_HOST_V6 if len(store_host) == HOST_V6_SIZE else 0

    def append(
        self, drafts: Sequence[Draft], results: list[AppendResult], touched: set[ConsumeQueue], now: int
    ) -> None:
        """Append drafts in their order, from the first one that has no entry in `results` on.

        Args:
            drafts: All of the group.
            results: Where they were stored; grows by one for each draft.
            touched: Gets the queues that got entries.
            now: The store timestamp in ms.

        Raises:
            StoreError: a draft did not fit; those before it are appended.
            OSError: a file could not be made or opened; as above.
        """
        start = self._log.position
        group = _Group(self._log)
        keys: list[object] = []
        try:
            for number in range(len(results), len(drafts)):
                draft = drafts[number]
                queue = self._queue_of(draft)
                self._make_room(group, drafts, number)
                stored = AppendResult(
                    group.end, self._size(draft), group.queue_offset(queue) if _has_entry(draft) else 0
                )
                record = self._record(draft, queue, stored, now)
                entry = None
                if _has_entry(draft):
                    tags_code = draft.tags_code if queue.delay is None else now + queue.delay
                    entry = _Entry(queue, stored.physical_offset, stored.size, tags_code)
                    touched.add(queue)
                group.add(record, entry)
                keys += self._keys_of(draft, queue, stored.physical_offset, now)
                results.append(stored)
        finally:
            group.publish()
            if self._keys is not None and keys:
                self._keys.add(start, self._log.position, keys)

    def _queue_of(self, draft: Draft) -> ConsumeQueue:
        key = (draft.topic, draft.queue_id)
        return self._queues.by_key.get(key) or self._queues.create(*key)

    def _host_bits(self, draft: Draft) -> int:
        return self._host_bit | (SysFlag.BORN_HOST_V6 if len(draft.born_host) == HOST_V6_SIZE else 0)

    def _size(self, draft: Draft) -> int:
        """Bytes of a draft's record.

        Raises:
            PropertiesTooLong: it cannot be stored.
        """
        if len(draft.properties) > MAX_PROPERTIES_LENGTH:
            raise PropertiesTooLong(len(draft.properties), MAX_PROPERTIES_LENGTH)
        lengths = map(len, (draft.body, self._queue_of(draft).topic_field, draft.properties))
        return RECORD_HEADS[self._host_bits(draft)].size + _PROPERTIES_LENGTH.size + sum(lengths)

    def _make_room(self, group: _Group, drafts: Sequence[Draft], number: int) -> None:
        """Have room for a draft, and for those behind it that belong to it."""
        draft = drafts[number]
        queue = self._queue_of(draft)
        size, entries = self._size(draft), 1
        if draft.group_size > 1:
            group.publish()
            size += self.prepare(drafts, number)
            if self._queue_of(drafts[number + 1]) is queue:
                entries = draft.group_size
        group.make_room(size)
        if _has_entry(draft):
            group.make_entry_room(queue, entries)

    def prepare(self, drafts: Sequence[Draft], number: int) -> int:
        """Bytes of the drafts behind one that belong to it. Once that one is written, they must not fail.

        So queues other than the first draft's, which makes room for all of a batch, get room for an entry here.

        Raises:
            StoreError: one of them cannot be stored.
        """
        first = drafts[number]
        rest = drafts[number + 1 : number + first.group_size]
        size = sum(map(self._size, rest))
        for queue in map(self._queue_of, rest):
            if queue is not self._queue_of(first) and queue.position >= queue.limit:
                queue.extend()
        return size

    def _record(self, draft: Draft, queue: ConsumeQueue, stored: AppendResult, now: int) -> bytes:
        host_bits = self._host_bits(draft)
        head = RECORD_HEADS[host_bits].pack(
            stored.size,
            queue.magic,
            crc32(draft.body) & BODY_CRC_MASK,
            draft.queue_id,
            draft.flag,
            stored.queue_offset,
            stored.physical_offset,
            draft.sys_flag | host_bits,
            draft.born_timestamp,
            draft.born_host,
            now,
            self._store_host,
            draft.reconsume_times,
            draft.prepared_offset,
            len(draft.body),
        )
        length = _PROPERTIES_LENGTH.pack(len(draft.properties))
        return b"".join((head, draft.body, queue.topic_field, length, draft.properties))

    def _keys_of(self, draft: Draft, queue: ConsumeQueue, at: int, now: int) -> tuple[object, ...]:
        """What the index gets: of a message that was rolled back only its place."""
        if draft.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK:
            return 0, None, None, at, now
        return queue.index_prefix_hash, draft.unique_key, draft.keys, at, now


def _has_entry(draft: Draft) -> bool:
    """Whether consumers get it: half messages and those rolled back they do not."""
    return draft.sys_flag & SysFlag.TRANSACTION_MASK in (SysFlag.TRANSACTION_NOT, SysFlag.TRANSACTION_COMMIT)
