"""Splits a read into tasks: by queues, by entries alone, by a walk, or by ids.

- message ids: the physical offsets in them or in the index (`id_plan`)
- all columns are among those of consume queues: their entries, and not the log
- topics, queues, offsets or tags are restricted: the entries give the positions to read in the log
- else a walk over the log, of a time range over the part that can hold it (`walk_plan`)

After a crash queues and index may lack what the log has, so then the log is walked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import gt
from typing import Final

import numpy as np

from rocketwire.spark.files.far import in_slices
from rocketwire.spark.plan.entries import Entries, range_of
from rocketwire.spark.plan.id_plan import plan_ids
from rocketwire.spark.plan.partitions import LogSpan, QueueRange
from rocketwire.spark.plan.walk_plan import plan_walk, store_time
from rocketwire.spark.request.request import CLOCK_MARGIN, FOREVER, ReadRequest
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.offline.read.directory import StoreState
from rocketwire.store.offline.read.file_system import ReadableFileSystem
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.queues import BLANK_SIZE
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX

#: Number of entries sampled for the mean size of a queue's messages.
_SAMPLED: Final = 8
#: A span consists of about so many parts: more parts make the spans more even.
_PARTS: Final = 16
#: The cost of an entry if the log is not read: a row costs more than its 20 bytes.
_ENTRY_COST: Final = 64

Ranges = Mapping[tuple[str, int], tuple[int, int]]


def plan(stores: Sequence[StoreSnapshot], request: ReadRequest) -> list[LogSpan]:
    """The tasks of a read.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: requested messages are missing, and options make this an error.
    """
    options = request.options
    if options.starting_offsets == "latest" or options.ending_offsets == "earliest":
        return []
    return _of_stores(stores, request, _plan_store)


def plan_counts(stores: Sequence[StoreSnapshot], request: ReadRequest) -> list[LogSpan]:
    """The tasks that walk whole logs.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: a part of a log is missing, and options make this an error.
    """
    return _of_stores(stores, request, plan_walk)


def _of_stores(
    stores: Sequence[StoreSnapshot],
    request: ReadRequest,
    of_store: Callable[[StoreSnapshot, ReadRequest, int], list[LogSpan]],
) -> list[LogSpan]:
    least = request.options.min_partitions
    total = sum(max(1, store.end - store.start) for store in stores)
    spans: list[LogSpan] = []
    for store in stores:
        share = -(-least * max(1, store.end - store.start) // total)
        spans += of_store(store, request, share)
    return spans


def _plan_store(store: StoreSnapshot, request: ReadRequest, least: int) -> list[LogSpan]:
    if request.has_ids:
        return plan_ids(store, request, least)
    by_queues = request.needs_no_log or _worth_queues(request)
    topics = _topics_by_queues(store, request) if by_queues else None
    if topics is None:
        return plan_walk(store, request, least)
    ranges = {
        (topic, queue_id): found
        for (topic, queue_id), found in store.selected(request.options).items()
        if topic in topics and (request.queues is None or queue_id in request.queues)
    }
    entries_only = request.needs_no_log and not any(topic.startswith(LIGHT_QUEUE_PREFIX) for topic, _ in ranges)
    if not entries_only and not _worth_queues(request):
        return plan_walk(store, request, least)
    max_bytes = request.options.max_bytes_per_partition
    narrowed = narrowed_ranges(store, request, ranges)
    return plan_ranges(store, narrowed, max_bytes=max_bytes, min_partitions=least, entries_only=entries_only)


def _worth_queues(request: ReadRequest) -> bool:
    """Whether anything but times is restricted."""
    options, narrowed = request.options, request.narrowed
    return (
        request.topics is not None
        or options.topic_pattern is not None
        or request.queues is not None
        or request.has_offsets
        or narrowed.tags is not None
        or (narrowed.first_offset, narrowed.end_offset) != (0, FOREVER)
    )


def _topics_by_queues(store: StoreSnapshot, request: ReadRequest) -> frozenset[str] | None:
    """The selected topics, if consume queues point to all their messages; else None."""
    if store.directory.state not in (StoreState.LIVE, StoreState.AT_REST):
        return None
    wanted = request.topics
    if wanted is None:
        if not store.queues_complete:
            return None
        return frozenset(files.topic for files in store.queue_files() if request.takes_topic(files.topic))
    with_queues = frozenset(filter(store.has_queues, wanted))
    # A topic without a message has no queue. Messages of a deleted topic are found by a walk only: its directory may be
    # left, too, and a topic that a filter names may be such a one.
    known = (store.topics() or set()) | set(request.options.topics)
    deleted = any(topic not in known or topic in store.directory.topics for topic in wanted - with_queues)
    return with_queues if with_queues == wanted or (store.queues_complete and not deleted) else None


def narrowed_ranges(store: StoreSnapshot, request: ReadRequest, ranges: Ranges) -> Ranges:
    """The parts of the ranges that can contain the filtered values and times; ranges without such a part are omitted.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    least, most = request.narrowed.first_offset, request.narrowed.end_offset
    since, until = request.since - CLOCK_MARGIN, request.until + CLOCK_MARGIN

    def narrowed(some: Sequence[tuple[tuple[str, int], tuple[int, int]]]) -> Iterator[tuple[int, int]]:
        with CommitLogReader(store.directory.commit_log) as log:
            for (topic, queue_id), (wanted_first, wanted_end) in some:
                first, end = max(wanted_first, least), min(wanted_end, most)
                queue = whole_queue(store, topic, queue_id)
                if first < end and request.has_times and queue is not None:
                    with Entries(queue) as entries:
                        # If a time cannot be read, the range is widened.
                        first = entries.bisect(first, end, lambda place: store_time(log, place, FOREVER) < since)
                        end = entries.bisect(first, end, lambda place: store_time(log, place, -FOREVER) < until)
                yield first, end

    found = in_slices(store.directory.files, narrowed, [*ranges.items()])
    return {queue: (first, end) for queue, (first, end) in zip(ranges, found, strict=True) if first < end}


def whole_queue(store: StoreSnapshot, topic: str, queue_id: int) -> QueueRange | None:
    """All of a queue; None when it has no files."""
    files = store.files_of(topic, queue_id)
    return None if files is None else QueueRange(topic, queue_id, files.path, 0, FOREVER, files.files)


def plan_ranges(
    store: StoreSnapshot, ranges: Ranges, *, max_bytes: int, min_partitions: int = 1, entries_only: bool = False
) -> list[LogSpan]:
    """The tasks that read ranges of queue offsets, each message once, whatever the state of the store.

    Args:
        store: The store.
        ranges: Of each queue (topic and number) the first offset and the one behind the last. A queue that has no files
            is skipped.
        max_bytes: A task reads so many bytes of messages, roughly.
        min_partitions: No fewer tasks, if there is so much to split.
        entries_only: The entries contain all requested values: the log is not read.

    Raises:
        StoreUnreadable: a file of a queue cannot be read.
    """
    queues = []
    for (topic, queue_id), (first, end) in ranges.items():
        whole = whole_queue(store, topic, queue_id)
        if whole is not None and first < end:
            queues.append(range_of(whole, first, end))
    if not queues:
        return []
    far = store.directory.files
    weights = in_slices(far, lambda some: [weight_of(one, entries_only=entries_only) for one in some], queues)
    target = max(1, min(max_bytes, -(-sum(weights) // min_partitions)))
    cuts = _cuts(far, queues, weights, target) if sum(weights) > target else []
    places = [store.start, *(cut for cut in cuts if store.start < cut < store.end), store.end]
    parts: list[list[QueueRange]] = [[] for _ in places[1:]]
    for split in in_slices(far, lambda some: [[*_split(one, places[1:-1])] for one in some], queues):
        for number, part in split:
            parts[number].append(part)
    files = store.directory.commit_log
    return [
        LogSpan(
            broker=store.broker,
            state=store.directory.state,
            start=start,
            end=end,
            files=tuple(file for file in files if file.end > start and file.start < end),
            queues=tuple(part),
            entries_only=entries_only,
        )
        for start, end, part in zip(places, places[1:], parts, strict=False)
        if part
    ]


def weight_of(queue: QueueRange, *, entries_only: bool = False) -> int:
    """The cost of reading a range: the bytes of its messages, estimated by the mean of a few.

    Raises:
        StoreUnreadable: a file of the queue cannot be read.
    """
    count = queue.end - queue.first
    if entries_only:
        return count * _ENTRY_COST
    with Entries(queue) as entries:
        sampled = [entries.entry(queue.first + count * n // _SAMPLED)[1] for n in range(min(_SAMPLED, count))]
    sizes = [size for size in sampled if 0 < size < BLANK_SIZE]
    return count * (sum(sizes) // len(sizes)) if sizes else count


def _cuts(far: ReadableFileSystem, queues: Sequence[QueueRange], weights: Sequence[int], target: int) -> list[int]:
    """Physical offsets between which messages of the ranges take about `target` bytes."""
    steps = [
        min(queue.end - queue.first, max(1, -(-weight * _PARTS // target)))
        for queue, weight in zip(queues, weights, strict=True)
    ]
    found = in_slices(
        far, lambda some: [_places(queue, count) for queue, count in some], [*zip(queues, steps, strict=True)]
    )
    places = [place for some in found for place in some]
    parts = [weight / count for weight, count in zip(weights, steps, strict=True) for _ in range(count)]
    order = np.argsort(places, kind="stable")
    reached = np.cumsum(np.array(parts)[order])
    marks = np.arange(target, reached[-1], target)
    chosen = np.searchsorted(reached, marks, "right")
    return sorted({places[order[number]] for number in chosen.tolist() if number < len(order)})


def _places(queue: QueueRange, count: int) -> list[int]:
    """The physical offsets of so many messages of a range, evenly distributed."""
    length = queue.end - queue.first
    with Entries(queue) as entries:
        return [entries.entry(queue.first + length * step // count)[0] for step in range(count)]


def _split(queue: QueueRange, cuts: Sequence[int]) -> Iterator[tuple[int, QueueRange]]:
    """The parts of a range between cuts, numbered: together they are the range, whatever its entries are."""
    first, number = queue.first, 0
    with Entries(queue) as entries:
        while first < queue.end and number < len(cuts):
            place = entries.message(first, queue.end)
            if place is None:
                break
            number = max(number, bisect_right(cuts, place))
            if number == len(cuts):
                break
            cut = cuts[number]
            end = entries.bisect(first, queue.end, partial(gt, cut))
            if end > first:
                yield number, range_of(queue, first, end)
            first, number = end, number + 1
    if first < queue.end:
        yield len(cuts), range_of(queue, first, queue.end)
