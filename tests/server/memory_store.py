"""A store in memory: the second implementation of `store.protocol`, as plain as it can be."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence

from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import StoreError
from rocketwire.store.index.query import QueryResult
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.layout.record import properties_of
from rocketwire.store.log.log_scan import ScanResult
from rocketwire.store.read.fetch import ANY_TEXT, FetchResult, FetchStatus
from rocketwire.store.read.reader import LogPart
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.names import SCHEDULE_TOPIC

_SIZE = 1 << 20


class MemoryStore:
    """A log of a megabyte that is never on a disk; `stopped_cleanly`, since nothing existed before."""

    stopped_cleanly = True
    min_physical_offset = 0
    append_error: StoreError | None = None
    append_refusal: StoreError | None = None

    def __init__(self, clock: Callable[[], int], delay_levels: Sequence[int]) -> None:
        self.delay_levels = delay_levels
        self.max_physical_offset = 0
        self.last_append_timestamp = 0
        self._clock = clock
        self._log = mmap.mmap(-1, _SIZE)
        self._view = memoryview(self._log)
        #: Place, size and tags code of each message of a queue, and when it was stored.
        self._queues: dict[tuple[str, int], list[tuple[int, int, int, int]]] = {}
        self._records: dict[int, int] = {}
        self._keys: dict[tuple[str, str], list[int]] = {}

    @property
    def flushed_offset(self) -> int:
        return self.max_physical_offset

    def flush_to(self, offset: int) -> None:
        assert offset <= self.max_physical_offset

    def on_store_error(self, error: Exception) -> bool:
        raise AssertionError(error)

    def append(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        return [self._append(draft) for draft in drafts]

    def _append(self, draft: Draft) -> AppendResult:
        now, at = self._clock(), self.max_physical_offset
        queue = self._queues.setdefault((draft.topic, draft.queue_id), [])
        has_entry = not draft.sys_flag & SysFlag.TRANSACTION_PREPARED
        record = encode_record(
            MessageRecord(
                topic=draft.topic,
                queue_id=draft.queue_id,
                body=bytes(draft.body),
                properties=draft.properties,
                flag=draft.flag,
                queue_offset=len(queue) if has_entry else 0,
                physical_offset=at,
                sys_flag=draft.sys_flag,
                born_timestamp=draft.born_timestamp,
                born_host=decode_host(draft.born_host),
                store_timestamp=now,
                store_host=("127.0.0.1", 10911),
                reconsume_times=draft.reconsume_times,
                prepared_transaction_offset=draft.prepared_offset,
            )
        )
        self._log[at : at + len(record)] = record
        self._records[at] = len(record)
        self.max_physical_offset += len(record)
        self.last_append_timestamp = now
        for key in (draft.unique_key, *(draft.keys or "").split()):
            self._keys.setdefault((draft.topic, key or ""), []).append(at)
        if not has_entry:
            return AppendResult(at, len(record), 0)
        delayed = draft.topic == SCHEDULE_TOPIC
        queue.append((at, len(record), now + self.delay_levels[draft.queue_id] if delayed else draft.tags_code, now))
        return AppendResult(at, len(record), len(queue) - 1)

    def record_at(self, physical_offset: int, size: int | None = None) -> memoryview | None:
        own = self._records.get(physical_offset)
        return None if own is None else self._view[physical_offset : physical_offset + (size or own)]

    def newest_record(self) -> memoryview | None:
        return self.record_at(max(self._records)) if self._records else None

    def log_part(self, physical_offset: int) -> LogPart | None:
        return LogPart(self._log, 0, self.max_physical_offset) if physical_offset < self.max_physical_offset else None

    def scan(self, offset: int, end: int, needle: bytes) -> ScanResult:
        found = [self._view[at : at + size] for at, size in self._records.items() if offset <= at < end]
        return ScanResult([record for record in found if needle in bytes(record)], end)

    def file_before(self, timestamp: int) -> int:
        return 0

    def queue_ids(self, topic: str) -> list[int]:
        return [queue_id for name, queue_id in self._queues if name == topic]

    def min_offset(self, topic: str, queue_id: int) -> int:
        return 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        return len(self._queues.get((topic, queue_id), ()))

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
        queue = self._queues.get((topic, queue_id), [])
        if not queue:
            return FetchResult(FetchStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)
        if offset >= len(queue):
            over = FetchStatus.OFFSET_OVERFLOW_ONE if offset == len(queue) else FetchStatus.OFFSET_OVERFLOW_BADLY
            return FetchResult(over, len(queue), 0, len(queue))
        looked_at = queue[offset : offset + max_count]
        chunks = [
            self._view[at : at + size]
            for at, size, code, _ in looked_at
            if (accept is None or accept(code))
            and (matches is None or matches(properties_of(self._view[at : at + size])))
        ]
        status = FetchStatus.FOUND if chunks else FetchStatus.NO_MATCHED_MESSAGE
        after = offset + len(looked_at)
        return FetchResult(status, after, 0, len(queue), chunks, len(chunks), sum(map(len, chunks)))

    def queue_entries(self, topic: str, queue_id: int, offset: int, most: int) -> tuple[int, bytes]:
        entries = self._queues.get((topic, queue_id), [])[offset : offset + most]
        return offset, b"".join(ENTRY_STRUCT.pack(*entry[:3]) for entry in entries)

    def place(self, key: tuple[str, int], offset: int) -> int | None:
        queue = self._queues.get(key, [])
        return queue[offset][0] if 0 <= offset < len(queue) else None

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        queue = self._queues.get((topic, queue_id), [])
        return queue[queue_offset][3] if 0 <= queue_offset < len(queue) else -1

    def earliest_time(self, topic: str, queue_id: int) -> int:
        return self.store_time(topic, queue_id, 0)

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int) -> int:
        times = [entry[3] for entry in self._queues.get((topic, queue_id), [])]
        return next((offset for offset, stored in enumerate(times) if stored >= timestamp), len(times))

    def query(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> QueryResult:
        found = self._keys.get((topic, key), [])[:max_count]
        records = [self._view[at : at + self._records[at]] for at in found]
        return QueryResult(records=records, index_last_update_timestamp=0, index_last_update_offset=0)
