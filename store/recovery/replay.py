"""Replaying the log from a physical offset on: dispatch of its records to the consume queues.

Entries are made for a batch of records at once: sorted by queue, cut into runs of consecutive queue offsets, and each
run is copied to its queue in one piece. The last record read is held back until it is known what follows it.

After a clean stop a record without a queue entry may belong to a deleted topic, and is then skipped:
config/topics.json lists the topics that exist.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Container, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from rocketwire.store.layout.consume_queue import ENTRY, ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.layout.derive import dtype_fields
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.queues.queues import MAX_NAME_BYTES, QueueTable
from rocketwire.store.records.columns import RecordColumns, topics_of
from rocketwire.store.records.property_text import TagCodes, delivery_time
from rocketwire.store.records.walk import WalkEnd, walk
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.names import SCHEDULE_TOPIC, is_system_topic_of_any_version

#: Records that are read at once: many, so that each queue gets long runs.
_BATCH: Final = 8192
#: Properties are copied out of the log so many bytes at once, or those of one record.
_PROPERTIES: Final = 8 << 20
#: A record whose queue offset is further behind its queue's end than this is rejected, and gets no entry.
_MOST_MISSING: Final = 1 << 20
_ENTRY: Final = np.dtype(dtype_fields(ENTRY))


class QueueIncomplete(Exception):
    """A queue lacks entries of messages before the part of the log that is to be dispatched."""


class KnownTopics(NamedTuple):
    """The topics: `existing` gives those that exist, None if that is not known.

    `dead_before`: by deleted topic the physical offset before which its messages are dead: they get no entries.
    """

    existing: Callable[[], Container[str] | None]
    dead_before: Mapping[str, int]


class ReplayResult(NamedTuple):
    """What was read: where the log ends, how many records there are, and when the last was stored (ms).

    `damaged`: it ends in damage. `found`: there was a part of a log where the replay began.
    """

    end: int
    records: int
    last_timestamp: int
    damaged: bool
    found: bool


def replay(
    log: CommitLog,
    queues: QueueTable,
    settings: StoreSettings,
    *,
    clean: bool,
    start: int,
    dispatch_from: int,
    topics: KnownTopics,
) -> ReplayResult:
    """Read a loaded log from a record on to its end; records at or behind `dispatch_from` get their queue entries.

    Args:
        log: The log.
        queues: The queues.
        settings: The store's.
        clean: Whether the last stop was a clean one: no page of the log is lost, and topics may have been deleted.
        start: Physical offset of a record.
        dispatch_from: Physical offset before which the queues should have all entries.
        topics: The topics that exist, and those that were deleted.

    Raises:
        QueueIncomplete: they do not; or entries of records before `start` are missing.
        ConfigInvalid: the topics are wanted and cannot be read.
        DiskFull: there is no room for the queues.
    """
    dispatch = _Dispatch(queues, settings, dispatch_from, topics, clean=clean, from_start=dispatch_from == log.start)
    files = log.segments
    number = next(i for i in reversed(range(len(files))) if files[i].start <= start)
    position = start - files[number].start
    count = last_timestamp = 0
    found = False
    held: tuple[mmap.mmap, RecordColumns] | None = None
    while True:
        segment = files[number]
        walked = walk(
            segment.mapping,
            base=segment.start,
            position=position,
            whole=True,
            check_crc=settings.check_crc_on_recover,
            lost_pages=not clean,
            most=_BATCH,
        )
        found = found or len(walked.records.position) > 0 or walked.stop is WalkEnd.BLANK
        if len(walked.records.position):
            if held is not None:
                dispatch.add(*held)
                last_timestamp = int(held[1].store_timestamp[-1])
            held = segment.mapping, walked.records
            count += len(walked.records.position)
        position = walked.position
        if walked.stop is WalkEnd.BLANK and number + 1 < len(files):
            segment.unmap()
            number += 1
            position = 0
        elif walked.stop is not WalkEnd.FULL:
            break
    end = segment.start + position
    damaged = walked.stop is WalkEnd.DAMAGED
    if held is not None:
        buffer, records = held
        if not clean and position and records.properties_length[-1] and segment.mapping[position - 1] == 0:
            # The last record is torn in its properties: a broker accepts none that end with a zero byte.
            end = int(records.physical_offset[-1])
            records = records.part(slice(0, -1))
            count -= 1
            damaged = True
        if len(records.position):
            last_timestamp = int(records.store_timestamp[-1])
            dispatch.add(buffer, records)
    return ReplayResult(end, count, last_timestamp, damaged, found)


class _Runs(NamedTuple):
    """Records of consumers' messages, sorted by queue and cut where the queue or the next queue offset changes.

    Run i is of `queues[i]` and goes from `bounds[i]` to `bounds[i + 1]`.
    """

    records: RecordColumns
    queues: list[tuple[str, int]]
    bounds: list[int]


def _runs(buffer: mmap.mmap, records: RecordColumns, dead_before: Mapping[str, int]) -> _Runs:
    # Half and rolled back messages, which have this bit, are not for consumers; no queue has an id below 0.
    chosen = np.flatnonzero((records.sys_flag & SysFlag.TRANSACTION_PREPARED == 0) & (records.queue_id >= 0))
    records = records.part(chosen)
    codes, topics = topics_of(buffer, records)
    if not dead_before.keys().isdisjoint(topics):
        alive = np.flatnonzero(records.physical_offset >= np.array([dead_before.get(t, 0) for t in topics])[codes])
        records, codes = records.part(alive), codes[alive]
    keys = codes.astype(np.int64) << 32 | records.queue_id
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    records = records.part(order)
    offsets = records.queue_offset
    cuts = np.flatnonzero((keys[1:] != keys[:-1]) | (offsets[1:] != offsets[:-1] + 1)) + 1
    bounds = [0, *cuts.tolist(), len(keys)] if len(keys) else [0]
    queues = [(topics[key >> 32], key & 0xFFFFFFFF) for key in keys[bounds[:-1]].tolist()]
    return _Runs(records, queues, bounds)


class _Dispatch:
    """Dispatches records to their queues, or checks that these have them."""

    def __init__(
        self,
        queues: QueueTable,
        settings: StoreSettings,
        dispatch_from: int,
        topics: KnownTopics,
        *,
        clean: bool,
        from_start: bool,
    ) -> None:
        self._queues = queues
        self._delay_levels = settings.delay_levels
        self._dispatch_from = dispatch_from
        self._topics = topics
        self._clean = clean
        self._from_start = from_start
        self._tags = TagCodes()
        self._ends: dict[ConsumeQueue, int] = {}
        self._put_to: set[ConsumeQueue] = set()
        #: By topic the physical offset of the oldest message that its queues point to.
        self._alive_since: dict[str, int] = {}

    def add(self, buffer: mmap.mmap, records: RecordColumns) -> None:
        """Take the next records of the log."""
        known = int(np.searchsorted(records.physical_offset, self._dispatch_from))
        if known:
            self._check(_runs(buffer, records.part(slice(0, known)), self._topics.dead_before))
        if known < len(records.position):
            self._put(buffer, _runs(buffer, records.part(slice(known, None)), self._topics.dead_before))

    def _check(self, runs: _Runs) -> None:
        """Check that each queue has an entry for these records: its newest is not older than the newest of them."""
        records, queues, bounds = runs
        newest = [bound - 1 for bound in bounds[1:]]
        offsets, places = records.queue_offset[newest].tolist(), records.physical_offset[newest].tolist()
        for key, offset, place in zip(queues, offsets, places, strict=True):
            queue = self._queues.by_key.get(key)
            if queue is not None and queue.end > queue.first_offset:
                if queue not in self._ends:
                    self._ends[queue] = queue.physical_end()
                lost = self._ends[queue] <= place and _believed(queue, offset)
            else:
                lost = offset >= 0 and self._queues.accepts_topic(key[0]) and not self._deleted(key[0])
                lost = lost and not self._made_again(key[0], place)
            if lost:
                raise QueueIncomplete

    def _deleted(self, topic: str) -> bool:
        """Whether a topic with messages in the log was deleted: 4.9 leaves it an empty directory, 5.x none."""
        if topic in self._queues.empty_topics:
            return True
        topics = self._topics.existing()
        return topics is not None and topic not in topics and not is_system_topic_of_any_version(topic)

    def _made_again(self, topic: str, place: int) -> bool:
        """Whether a topic that has queues was deleted and made again since the message at a physical offset."""
        if topic not in self._alive_since:
            self._alive_since[topic] = self._queues.physical_start(topic)
        return self._alive_since[topic] > place

    def _put(self, buffer: mmap.mmap, runs: _Runs) -> None:
        records, queues, bounds = runs
        entries = np.empty(len(records.position), _ENTRY)
        entries["physical_offset"] = records.physical_offset
        entries["size"] = records.size
        entries["tags_code"] = self._tags_codes(buffer, runs)
        packed = memoryview(entries.tobytes())
        first_offsets = records.queue_offset[bounds[:-1]].tolist()
        for key, offset, start, stop in zip(queues, first_offsets, bounds[:-1], bounds[1:], strict=True):
            queue = self._queues.by_key.get(key)
            if queue is None:
                if not self._queues.accepts_topic(key[0]) or (self._clean and self._deleted(key[0])):
                    continue
                queue = self._queues.create(*key, longest=MAX_NAME_BYTES)
            self._put_run(queue, offset, packed[start * ENTRY_SIZE : stop * ENTRY_SIZE])
            self._queues.dirty.add(queue)

    def _put_run(self, queue: ConsumeQueue, offset: int, entries: memoryview) -> None:
        while entries:
            if offset == queue.end:
                queue.put_many(entries)
                self._put_to.add(queue)
                return
            if offset > queue.end and not self._from_start and queue not in self._put_to:
                raise QueueIncomplete
            # What is missing behind a message that was put already is not in the log.
            if _believed(queue, offset):
                queue.put_at(offset, *ENTRY_STRUCT.unpack_from(entries))
                self._put_to.add(queue)
            offset += 1
            entries = entries[ENTRY_SIZE:]

    def _tags_codes(self, buffer: mmap.mmap, runs: _Runs) -> list[int]:
        records, queues, bounds = runs
        starts = records.properties_position
        stops = starts + records.properties_length
        codes: list[int] = []
        parts = np.cumsum(records.properties_length, dtype=np.int64) // _PROPERTIES
        cuts = (np.flatnonzero(parts[1:] != parts[:-1]) + 1).tolist()
        for first, end in pairwise([0, *cuts, len(parts)]):
            places = zip(starts[first:end].tolist(), stops[first:end].tolist(), strict=True)
            codes += self._tags.of([buffer[start:stop] for start, stop in places])
        for (topic, _), first, end in zip(queues, bounds[:-1], bounds[1:], strict=True):
            if topic == SCHEDULE_TOPIC:
                for i in range(first, end):
                    text = buffer[starts[i] : stops[i]]
                    due = delivery_time(text, int(records.store_timestamp[i]), self._delay_levels)
                    codes[i] = codes[i] if due is None else due
        return codes


def _believed(queue: ConsumeQueue, offset: int) -> bool:
    return offset >= 0 and (not queue.end or offset <= queue.end + _MOST_MISSING)
