"""Plans walks over the log, cut into parts at starts of records, which are known from consume queues.

The walk of a time range covers the part of the log that can contain it. Store times rise along the log, but
for a clock that was set back by up to a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import pairwise
from typing import Final

from rocketwire.spark.plan.entries import Entries
from rocketwire.spark.plan.partitions import LogSpan, QueueRange
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import CLOCK_MARGIN, FOREVER, ReadRequest
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.offline.read.directory import RowFile
from rocketwire.store.offline.read.heads import LARGEST_HEAD, promised_size
from rocketwire.store.offline.read.log import CommitLogReader, LogFileReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import QueueReader

#: Number of queues (the largest) whose entries give starts of records.
_QUEUES: Final = 4
#: Largest distance of a cut from its ideal place, as a part of a span's size.
_NEAR: Final = 8


def plan_walk(
    store: StoreSnapshot, request: ReadRequest, least: int, parts: Sequence[tuple[int, int]] | None = None
) -> list[LogSpan]:
    """Spans of the log that are walked.

    Args:
        store: The store.
        request: The request, whose times narrow the walk.
        least: No fewer spans, if there are so many places to cut at.
        parts: Ranges of physical offsets to walk, each from a record on; None for all of the log.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: a part of the log is missing, and options make this an error.
    """
    guides = _guides(store)
    low, high = _of_times(store, request, guides) if request.has_times else (store.start, store.end)
    wanted = [(store.start, store.end)] if parts is None else parts
    if store.lost_tail is not None and any(end >= store.end for _, end in wanted):
        store.lost_tail.description(store.broker, request)
    clipped = [(max(start, low), min(end, high)) for start, end in wanted]
    total = sum(max(0, end - start) for start, end in clipped)
    size = max(1, min(request.options.max_bytes_per_partition, -(-total // least)))
    return [span for start, end in clipped for span in _spans(store, request, guides, start, end, size)]


def _spans(
    store: StoreSnapshot, request: ReadRequest, guides: Sequence[QueueRange], low: int, high: int, size: int
) -> Iterator[LogSpan]:
    for file, start, end in parts_of_files(store, request, low, high):
        places = [start, *_record_places(file, guides, start, end, size), end]
        for first, last in pairwise(places):
            yield LogSpan(broker=store.broker, state=store.directory.state, start=first, end=last, files=(file,))


def parts_of_files(
    store: StoreSnapshot, request: ReadRequest, low: int, high: int
) -> Iterator[tuple[RowFile, int, int]]:
    """The files of the log with messages between two physical offsets, and which part of each this is.

    Raises:
        DataLost: a file is missing, and options make this an error.
    """
    behind = low
    for file in store.directory.commit_log:
        start, end = max(file.start, low), min(file.end, high)
        if start >= end:
            continue
        if start > behind:
            what = f"the {start - behind} bytes of the log before {file.path} are missing"
            lost(what, fail=request.options.fail_on_data_loss)
        behind = end
        yield file, start, end


def _record_places(file: RowFile, guides: Sequence[QueueRange], start: int, end: int, size: int) -> Iterator[int]:
    """Where records begin, about `size` bytes from each other."""
    if end - start <= size or not guides:
        return
    readers = [Entries(guide) for guide in guides]
    try:
        with LogFileReader(file) as opened:
            reached = start
            while reached + size < end:
                wanted = reached + size
                found = _place_behind(opened, guides, readers, wanted, size // _NEAR)
                if found is None or found >= end:
                    return
                yield found
                reached = found
    except FileGone:
        return
    finally:
        for reader in readers:
            reader.close()


def _place_behind(
    file: LogFileReader, guides: Sequence[QueueRange], readers: Sequence[Entries], wanted: int, near: int
) -> int | None:
    best: int | None = None
    for guide, reader in zip(guides, readers, strict=True):
        number = reader.bisect(guide.first, guide.end, lambda place: place < wanted)
        if number == guide.end:
            continue
        place, size, _ = reader.entry(number)
        # A hole in the queue has the physical offset 0.
        if place < wanted or (best is not None and place >= best):
            continue
        if promised_size(file.read(place, LARGEST_HEAD), 0, place) == size:
            best = place
            if place <= wanted + near:
                break
    return best


def _guides(store: StoreSnapshot) -> list[QueueRange]:
    """Whole ranges of the queues that have most room for entries."""
    guides = []
    for files in nlargest(_QUEUES, store.queue_files(), key=lambda queue: queue.files[-1].end - queue.files[0].start):
        with QueueReader(files, log_start=store.start) as queue:
            if queue.end > queue.min:
                guides.append(QueueRange(files.topic, files.queue_id, files.path, queue.min, queue.end, files.files))
    return guides


def _of_times(store: StoreSnapshot, request: ReadRequest, guides: Sequence[QueueRange]) -> tuple[int, int]:
    """The part of the log, from a record on, that can contain messages of the requested times."""
    since, until = request.since - CLOCK_MARGIN, request.until + CLOCK_MARGIN
    low, high = store.start, store.end
    with CommitLogReader(store.directory.commit_log) as log:
        for file in store.directory.commit_log:
            first = log.store_time(file.start)
            if first is not None and first < since:
                low = max(low, file.start)
            if first is not None and first >= until:
                high = min(high, file.start)
        for guide in guides:
            with Entries(guide) as entries:
                number = entries.bisect(guide.first, guide.end, lambda place: store_time(log, place, FOREVER) < since)
                if number > guide.first:
                    place = entries.entry(number - 1)[0]
                    low = max(low, place) if store_time(log, place, FOREVER) < since else low
                number = entries.bisect(guide.first, guide.end, lambda place: store_time(log, place, -FOREVER) < until)
                if number < guide.end:
                    place = entries.entry(number)[0]
                    high = min(high, place) if store_time(log, place, -FOREVER) >= until else high
    return low, high


def store_time(log: CommitLogReader, place: int, otherwise: int) -> int:
    """When the message at a physical offset was stored, in ms; something else where none can be read.

    Raises:
        StoreUnreadable: the file cannot be read.
    """
    found = log.store_time(place)
    return otherwise if found is None else found
