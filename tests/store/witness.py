"""What a store promised while it ran, and what of it must hold after a crash.

The log is one list: after a crash there must be a first part of it, with all that was acknowledged, byte for byte, less
the files that were removed at its begin; and the queues and the index must contain exactly that part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.layout.consume_queue import ENTRY_SIZE
from rocketwire.store.store import MessageStore
from tests.store.support import START

FOREVER = START * 2


class Record(NamedTuple):
    """A message as it was stored."""

    draft: Draft
    place: AppendResult
    data: bytes

    @property
    def end(self) -> int:
        return self.place.physical_offset + self.place.size

    @property
    def hidden(self) -> bool:
        return bool(self.draft.sys_flag & 4)


class Promise(NamedTuple):
    """How many messages must be there after a crash now, how many may be, and where the log begins at the latest."""

    acknowledged: int
    appended: int
    start: int = 0


class Witness:
    """Appends to stores and remembers their results."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.acknowledged = 0
        #: Where the log begins when all removals that were begun are done.
        self.start = 0
        self._appending = 0

    def promise(self) -> Promise:
        return Promise(self.acknowledged, len(self.records) + self._appending, self.start)

    def append(self, store: MessageStore, drafts: Sequence[Draft]) -> int:
        """Append, and give how many were taken."""
        ends = {
            (record.draft.topic, record.draft.queue_id): record.place.queue_offset + 1
            for record in self.records
            if not record.hidden
        }
        self._appending = len(drafts)
        results = store.append(drafts)
        self._appending = 0
        for draft, place in zip(drafts, results, strict=False):
            data = store.record_at(place.physical_offset, place.size)
            assert data is not None
            record = Record(draft, place, bytes(data))
            assert bytes(draft.body) in record.data
            key = draft.topic, draft.queue_id
            if not record.hidden:
                assert place.queue_offset == ends.get(key, 0)
                ends[key] = place.queue_offset + 1
            assert not self.records or place.physical_offset >= self.records[-1].end
            self.records.append(record)
        assert (len(results) < len(drafts)) == (store.append_error is not None)
        return len(results)

    def acknowledge(self, offset: int) -> None:
        """What ends at or before a place in the log was acknowledged."""
        while self.acknowledged < len(self.records) and self.records[self.acknowledged].end <= offset:
            self.acknowledged += 1

    def crashed(self, count: int) -> None:
        """Only the first messages were found again, and are durable from then on."""
        del self.records[count:]
        self.acknowledged = count

    def copy(self) -> Witness:
        twin = Witness()
        twin.records = list(self.records)
        twin.acknowledged = self.acknowledged
        twin.start = self.start
        return twin


def check(store: MessageStore, witness: Witness, promise: Promise) -> int:
    """Compare a store that was opened after a crash with what was promised; return how many messages it has."""
    count = count_records(store, witness.records)
    assert promise.acknowledged <= count <= promise.appended, (promise, count)
    start = store._log.start
    assert start <= promise.start
    records = witness.records[:count]
    for record in records:
        data = store.record_at(record.place.physical_offset)
        assert (data and bytes(data)) == (record.data if record.place.physical_offset >= start else None), record.place
    check_queues(store, records)
    if store.settings.message_index_enable:
        there = [record for record in records if record.place.physical_offset >= start]
        check_index(store, there, [*records[: len(records) - len(there)], *witness.records[count:]])
    return count


def count_records(store: MessageStore, records: Sequence[Record]) -> int:
    """How many of the messages the log holds: it must end where one of them does, or its file does."""
    position = store.max_physical_offset
    size = store.settings.commit_log_file_size
    count = sum(record.end <= position for record in records)
    end = records[count - 1].end if count else 0
    assert position in {end, end + -end % size}, (position, end)
    assert count == len(records) or records[count].place.physical_offset >= position
    return count


def queues_of(records: Sequence[Record]) -> dict[tuple[str, int], list[Record]]:
    """What consumers see, by queue."""
    queues: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        if not record.hidden:
            queues.setdefault((record.draft.topic, record.draft.queue_id), []).append(record)
    return queues


def check_queues(store: MessageStore, records: Sequence[Record]) -> None:
    queues = queues_of(records)
    for key in [key for key in store._queues.by_key if key not in queues]:
        assert store.max_offset(*key) == 0, key
        check_nothing_behind(store, key)
    for key, messages in queues.items():
        assert [record.place.queue_offset for record in messages] == list(range(len(messages)))
        there = [record for record in messages if record.place.physical_offset >= store._log.start]
        missing = len(messages) - len(there)
        assert (store.min_offset(*key), store.max_offset(*key)) == (missing, len(messages)), key
        for number, record in enumerate(there, missing):
            entry = record.place.physical_offset, record.place.size, record.draft.tags_code
            assert store._queues.by_key[key].entry(number) == entry, (key, number)
        offset = missing
        got = []
        while offset < len(messages):
            fetched = store.get(*key, offset, 32)
            assert fetched.next_offset > offset
            got += [bytes(chunk) for chunk in fetched.chunks]
            offset = fetched.next_offset
        assert b"".join(got) == b"".join(record.data for record in there), key
        check_nothing_behind(store, key)


def check_nothing_behind(store: MessageStore, key: tuple[str, int]) -> None:
    """No entry stands behind a queue's end, where a later start could take it for one of the queue."""
    queue = store._queues.by_key[key]
    last = queue._segments.last
    if last is not None:
        at = queue.end * ENTRY_SIZE - last.start
        assert not any(bytes(last.view[max(0, at) :])), (key, queue.end)


def check_index(store: MessageStore, records: Sequence[Record], missing: Sequence[Record]) -> None:
    """The first of their keys finds all messages that have it, and no others; so do some of the unique keys."""
    while store.dispatch_index():
        pass
    wanted: dict[tuple[str, str], list[bytes]] = {}
    for record in (*records, *missing):
        wanted.setdefault((record.draft.topic, first_key(record)), [])
    for record in records:
        wanted[record.draft.topic, first_key(record)].append(record.data)
    for (topic, word), those in wanted.items():
        assert found(store, topic, word) == those[-64:], (topic, word)
    for record in records[::9]:
        assert found(store, record.draft.topic, record.draft.unique_key) == [record.data]
    for record in missing[::9]:
        assert found(store, record.draft.topic, record.draft.unique_key) == []


def first_key(record: Record) -> str:
    return (record.draft.keys or "").split()[0]


def found(store: MessageStore, topic: str, key: str | None) -> list[bytes]:
    assert key is not None
    return [bytes(each) for each in store.query(topic, key, 64, 0, FOREVER).records]
