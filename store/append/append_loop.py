"""The append loop: a group of drafts becomes records in the commit log, consume queue entries, and keys for the index.

The kernel has the same loop in C; this is its Python twin, which also takes what the kernel does not: drafts whose
values are not of their declared types, and files that are not memory-mapped. It is one loop without calls into this
package: records are packed and joined, and copied to the log at once; the consume queue entries follow, so that a kill
never leaves an entry without its record. Slow steps (reserving room, the next file, a new queue) are behind a
comparison that rarely holds; they may drop mappings, so what was packed before is written first. The layout is
wire.facts.record.RECORD's.

Drafts that belong together are in one file of the log: room for all of them is made at the first. They are the messages
of a batch, as Apache writes them, or messages of several queues (one each) that must be stored all or none: the end of
a transaction and its operation message. A batch also gets room in its queue for all entries that the file takes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias
from zlib import crc32

from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import PropertiesTooLong
from rocketwire.store.index.key_column import PythonKeyColumn
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.layout.record import record_head
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.queues.queues import QueueTable
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import BODY_CRC_MASK, MAX_PROPERTIES_LENGTH
from rocketwire.wire.hosts import HOST_V4_SIZE, HOST_V6_SIZE

_PROPERTIES_LENGTH: Final = struct.Struct(">h")
_new_appended = tuple.__new__

_Entry: TypeAlias = tuple[ConsumeQueue, int, int, int]
"""The queue, and the fields of its entry: physical offset and size of the record, tags code."""


def _has_room(queue: ConsumeQueue, pending: Mapping[ConsumeQueue, int]) -> bool:
    return queue.position + pending.get(queue, 0) * ENTRY_SIZE < queue.limit


class AppendLoop:
    """Appends to one store."""

    def __init__(self, log: CommitLog, queues: QueueTable, keys: PythonKeyColumn | None, store_host: bytes) -> None:
        self._log = log
        self._queues = queues
        self._keys = keys
        self._store_host = store_host
        self._host_bit = SysFlag.STORE_HOST_V6 if len(store_host) == HOST_V6_SIZE else 0
        self._head_v4 = record_head(HOST_V4_SIZE, len(store_host))
        self._head_v6 = record_head(HOST_V6_SIZE, len(store_host))

    def append(  # noqa: C901, PLR0912, PLR0915 - one loop, see above
        self, drafts: Sequence[Draft], results: list[AppendResult], touched: set[ConsumeQueue], now: int
    ) -> None:
        """Append drafts in their order, from the first one that has no entry in `results` on.

        Args:
            drafts: All of the group.
            results: Where they were stored; grows by one for each draft.
            touched: Gets the queues that got messages.
            now: The store timestamp in ms.

        Raises:
            StoreError: a draft did not fit; those before it are appended.
            OSError: a file could not be made or opened; as above.
        """
        log = self._log
        get_queue = self._queues.by_key.get
        store_host = self._store_host
        host_bit = self._host_bit
        pack_v4, overhead_v4 = self._head_v4.pack, self._head_v4.size + _PROPERTIES_LENGTH.size
        overhead_v6 = self._head_v6.size + _PROPERTIES_LENGTH.size
        pack_length = _PROPERTIES_LENGTH.pack
        touch = touched.add
        parts: list[bytes | memoryview] = []
        entries: list[_Entry] = []
        pending: dict[ConsumeQueue, int] = {}  # how many of them belong to a queue
        columns: list[object] = []
        keys = self._keys
        done = len(results)
        start = at = log.position
        limit = log.limit
        try:
            for draft in drafts[done:] if done else drafts:
                topic = draft.topic
                queue_id = draft.queue_id
                queue = get_queue((topic, queue_id))
                if queue is None:
                    queue = self._queues.create(topic, queue_id)
                body = draft.body
                body_length = len(body)
                properties = draft.properties
                properties_length = len(properties)
                if properties_length > MAX_PROPERTIES_LENGTH:
                    raise PropertiesTooLong(properties_length, MAX_PROPERTIES_LENGTH)
                sys_flag = draft.sys_flag | host_bit
                born_host = draft.born_host
                topic_field = queue.topic_field
                if len(born_host) == 8:
                    pack = pack_v4
                    size = overhead_v4 + body_length + len(topic_field) + properties_length
                else:
                    pack = self._head_v6.pack
                    size = overhead_v6 + body_length + len(topic_field) + properties_length
                    sys_flag |= SysFlag.BORN_HOST_V6
                end = at + size
                wanted = 1
                if draft.group_size > 1:
                    following = drafts[len(results) + 1]
                    behind = get_queue((following.topic, following.queue_id))
                    if behind is queue:
                        wanted = draft.group_size
                    of_two = draft.group_size == 2 and len(following.properties) <= MAX_PROPERTIES_LENGTH
                    if not of_two or behind is None or behind is queue or not _has_room(behind, pending):
                        self._write(parts, entries, pending)
                        end += self.size_behind(drafts, len(results), topic_field)
                    else:  # the note of a transaction's outcome, as its queue mostly is: ready for it
                        end += overhead_v4 if len(following.born_host) == HOST_V4_SIZE else overhead_v6
                        end += len(following.body) + len(behind.topic_field) + len(following.properties)
                if end > limit:
                    self._write(parts, entries, pending)
                    log.make_room(end - at)
                    at = log.position
                    limit = log.limit
                if sys_flag & 4:  # prepared and rolled back messages are not for consumers
                    offset = 0
                    has_entry = False
                else:
                    before = pending.get(queue, 0)
                    offset = queue.end + before
                    if queue.position + (before + wanted) * ENTRY_SIZE > queue.limit:
                        self._write(parts, entries, pending)
                        queue.extend(wanted)
                        before = 0
                    has_entry = True
                head = pack(
                    size,
                    queue.magic,
                    crc32(body) & BODY_CRC_MASK,
                    queue_id,
                    draft.flag,
                    offset,
                    at,
                    sys_flag,
                    draft.born_timestamp,
                    born_host,
                    now,
                    store_host,
                    draft.reconsume_times,
                    draft.prepared_offset,
                    body_length,
                )
                parts += (head, body, topic_field, pack_length(properties_length), properties)
                if has_entry:
                    delay = queue.delay
                    entries.append((queue, at, size, draft.tags_code if delay is None else now + delay))
                    pending[queue] = before + 1
                    touch(queue)
                    if keys is not None:
                        columns += (queue.index_prefix_hash, draft.unique_key, draft.keys, at, now)
                elif keys is not None:
                    if sys_flag & 8:  # rolled back
                        columns += (0, None, None, at, now)
                    else:
                        columns += (queue.index_prefix_hash, draft.unique_key, draft.keys, at, now)
                results.append(_new_appended(AppendResult, (at, size, offset)))
                at += size
        finally:
            self._write(parts, entries, pending)
            if keys is not None and len(results) > done:
                keys.add(start, log.position, columns)

    def _write(self, parts: list[bytes | memoryview], entries: list[_Entry], pending: dict[ConsumeQueue, int]) -> None:
        """Write what was packed, and empty the lists of it."""
        if parts:
            self._log.write(b"".join(parts))
            parts.clear()
        for queue, at, size, tags_code in entries:
            ENTRY_STRUCT.pack_into(queue.buffer, queue.position, at, size, tags_code)
            queue.position += ENTRY_SIZE
            queue.end += 1
            queue.arrived += 1
            queue.arrived_bytes += size
        entries.clear()
        pending.clear()

    def size_behind(self, drafts: Sequence[Draft], number: int, topic_field: bytes) -> int:
        """Bytes of the records of the drafts that belong to one; those of a batch have one queue and one client.

        For others the queues are prepared here: once the first draft is written, the rest must not fail.

        Raises:
            PropertiesTooLong: one of them cannot be stored.
        """
        first = drafts[number]
        others = drafts[number + 1 : number + first.group_size]
        longest = max(len(draft.properties) for draft in others)
        if longest > MAX_PROPERTIES_LENGTH:
            raise PropertiesTooLong(longest, MAX_PROPERTIES_LENGTH)
        if others[-1].topic != first.topic:
            return sum(map(self._size_in_ready_queue, others))
        head = self._head_v4 if len(first.born_host) == HOST_V4_SIZE else self._head_v6
        each = head.size + len(topic_field) + _PROPERTIES_LENGTH.size
        return len(others) * each + sum(len(draft.body) + len(draft.properties) for draft in others)

    def _size_in_ready_queue(self, draft: Draft) -> int:
        key = (draft.topic, draft.queue_id)
        queue = self._queues.by_key.get(key) or self._queues.create(*key)
        if queue.position >= queue.limit:
            queue.extend()
        head = self._head_v4 if len(draft.born_host) == HOST_V4_SIZE else self._head_v6
        return head.size + len(draft.body) + len(queue.topic_field) + _PROPERTIES_LENGTH.size + len(draft.properties)
