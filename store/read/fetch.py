"""Reading messages of a queue, with the semantics of Apache 4.9.7's getMessage.

Results are views of the log's memory mapping, adjacent records in one view. The fast path (no filter, and the entries
point to adjacent records of one file) is decided from the entries alone; everything else goes entry by entry.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from rocketwire import native
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT, HIGHEST_EXT_ADDRESS
from rocketwire.store.layout.record import properties_of
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.read.record_runs import record_runs
from rocketwire.store.records.property_text import property_text

_Newest: TypeAlias = Callable[[CommitLog, ConsumeQueue, int, int, int, int], tuple[list[memoryview], int, int] | None]
_newest_records: Final[_Newest | None] = None if native.kernel is None else native.kernel.newest_records
"""Gives what `_fetch_plain` does, if it is in the files being written: views of records, their number and bytes."""
#: Entries that one call scans, whether or not they pass the filter: Apache's 16,000 bytes.
_MOST_SCANNED: Final = 16_000 // ENTRY_SIZE
#: Bytes that a message counts for in addition to its property text, when that is read.
_EACH: Final = 64
ANY_TEXT: Final = sys.maxsize
"""A bound of property text that no call reaches."""


class FetchStatus(enum.Enum):
    """The status of a fetch; names are those of Apache's GetMessageStatus."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"  # 4.9.7 never returns it: it creates the queue it looks up
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"


class FetchResult(msgspec.Struct, gc=False):
    """The result: `count` records of `size` bytes in `chunks`; the reader continues at `next_offset`.

    `is_far_behind`: the last entry scanned is further behind the log's end than the page cache is expected to hold;
    then `scanned_bytes` is the number of bytes of the records that were read, whether or not they are among the chunks.
    """

    status: FetchStatus
    next_offset: int
    min_offset: int
    max_offset: int
    chunks: list[memoryview] = []
    count: int = 0
    size: int = 0
    is_far_behind: bool = False
    scanned_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Bounds of one result; `memory` is how many bytes before the log's end count as being in memory."""

    memory: int
    count_in_memory: int
    bytes_in_memory: int
    count_on_disk: int
    bytes_on_disk: int


def fetch(
    log: CommitLog,
    queue: ConsumeQueue | None,
    offset: int,
    most: int,
    limits: FetchLimits,
    accept: Callable[[int], bool] | None,
    matches: Callable[[bytes], bool] | None = None,
    most_text: int = ANY_TEXT,
) -> FetchResult:
    """Messages of a queue from `offset` on, at most `most`.

    `accept` is called with the tags code of each, `matches` with the property text of those that remain, up to the
    message with which the texts exceed `most_text` bytes.
    """
    if queue is None or not queue.end:
        return FetchResult(FetchStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)
    low, high = queue.min, queue.end
    if not low <= offset < high:
        return _outside(low, high, offset)
    everything = accept is None and matches is None
    wanted = max(1, most) if everything else max(_MOST_SCANNED, most)
    if everything:
        wanted = min(wanted, limits.count_in_memory)
        newest = _newest_records and _newest_records(log, queue, offset, wanted, limits.memory, limits.bytes_in_memory)
        if newest:
            chunks, count, size = newest
            return FetchResult(FetchStatus.FOUND, offset + count, low, high, chunks, count, size)
    entries = queue.entries(offset, wanted)
    if entries is None:
        return FetchResult(FetchStatus.OFFSET_FOUND_NULL, queue.file_range(offset)[1], low, high)
    if everything:
        found = _fetch_plain(log, queue, offset, limits, entries)
        if found is not None:
            return found
        entries = queue.entries(offset, max(_MOST_SCANNED, most)) or entries
    elif accept is None and matches is not None:
        found = _fetch_matching(
            log, queue, offset, min(most, limits.count_in_memory), limits, matches, most_text, entries
        )
        if found is not None:
            return found
    return _fetch_each(log, queue, offset, most, limits, accept, matches, most_text, entries)


def _outside(low: int, high: int, offset: int) -> FetchResult:
    """The result for an offset outside of a queue."""
    if offset < low == high:
        # All messages are removed. As in 4.9.7 the reader continues at once; after OFFSET_TOO_SMALL it would wait 10 s.
        return FetchResult(FetchStatus.MESSAGE_WAS_REMOVING, high, low, high)
    if offset < low:
        return FetchResult(FetchStatus.OFFSET_TOO_SMALL, low, low, high)
    status = FetchStatus.OFFSET_OVERFLOW_ONE if offset == high else FetchStatus.OFFSET_OVERFLOW_BADLY
    return FetchResult(status, high, low, high)


def _fetch_plain(
    log: CommitLog, queue: ConsumeQueue, offset: int, limits: FetchLimits, entries: memoryview
) -> FetchResult | None:
    """All records of some entries, if they are within the limits, in memory and in one file; else None."""
    count = len(entries) // ENTRY_SIZE
    first = ENTRY_STRUCT.unpack_from(entries)[0]
    last, last_size, _ = ENTRY_STRUCT.unpack_from(entries, len(entries) - ENTRY_SIZE)
    if log.position - first > limits.memory:
        return None
    whole = log.read(first, last + last_size - first)
    chunks = None if whole is None else record_runs(entries, whole)
    if chunks is None:
        return None
    size = sum(map(len, chunks))
    if size > limits.bytes_in_memory:
        return None
    return FetchResult(FetchStatus.FOUND, offset + count, queue.min, queue.end, chunks, count, size)


def _fetch_matching(
    log: CommitLog,
    queue: ConsumeQueue,
    offset: int,
    most: int,
    limits: FetchLimits,
    matches: Callable[[bytes], bool],
    most_text: int,
    entries: memoryview,
) -> FetchResult | None:
    """Messages chosen by their property text, if all entries' records are in memory and in one file; else None."""
    first = ENTRY_STRUCT.unpack_from(entries)[0]
    segment = log.segments.find(first)
    if segment is None or log.position - first > limits.memory:
        return None
    mapping, view, start, most_bytes = segment.mapping, segment.view, segment.start, limits.bytes_in_memory
    lowest, highest = first - start, min(log.position - start, segment.size)
    chunks: list[memoryview] = []
    run_start = run_end = count = size = scanned = read = 0
    for physical_offset, record_size, _ in ENTRY_STRUCT.iter_unpack(entries):
        if read > most_text or (count and (count >= most or size + record_size > most_bytes)):
            break
        at = physical_offset - start
        end = at + record_size
        if at < lowest or end > highest:
            return None
        scanned += 1
        text = property_text(mapping, at, end)
        read += len(text) + _EACH
        if matches(text):
            if at != run_end:
                chunks.append(view[run_start:run_end])
                run_start = at
            run_end = end
            count += 1
            size += record_size
    chunks.append(view[run_start:run_end])
    status = FetchStatus.FOUND if count else FetchStatus.NO_MATCHED_MESSAGE
    return FetchResult(status, offset + scanned, queue.min, queue.end, [each for each in chunks if each], count, size)


def _fetch_each(  # noqa: C901, PLR0912 - one loop, see above
    log: CommitLog,
    queue: ConsumeQueue,
    offset: int,
    most: int,
    limits: FetchLimits,
    accept: Callable[[int], bool] | None,
    matches: Callable[[bytes], bool] | None,
    most_text: int,
    entries: memoryview,
) -> FetchResult:
    log_end = log.position
    status = FetchStatus.NO_MATCHED_MESSAGE
    chunks: list[memoryview] = []
    run_start = run_size = count = size = scanned = physical_offset = read = examined = 0
    skip_until = -1
    for physical_offset, record_size, tags_code in ENTRY_STRUCT.iter_unpack(entries):
        if skip_until >= 0 and physical_offset < skip_until:
            scanned += 1
            continue
        if count:
            on_disk = log_end - physical_offset > limits.memory
            most_count = limits.count_on_disk if on_disk else limits.count_in_memory
            most_bytes = limits.bytes_on_disk if on_disk else limits.bytes_in_memory
            if count >= most or count >= most_count or size + record_size > most_bytes:
                break
        scanned += 1
        if accept is not None and not accept(tags_code) and tags_code > HIGHEST_EXT_ADDRESS:
            continue  # the tags code is the address of a queue extension: the client compares the tags
        record = log.read(physical_offset, record_size)
        if record is None:
            if not count:
                status = FetchStatus.MESSAGE_WAS_REMOVING
            skip_until = log.next_file(physical_offset)
            continue
        if matches is not None:
            if read > most_text:
                scanned -= 1
                break
            text = properties_of(record)
            read += len(text) + _EACH
            examined += record_size
            if not matches(text):
                if not count:
                    status = FetchStatus.NO_MATCHED_MESSAGE
                continue
        if count and physical_offset == run_start + run_size and physical_offset % log.segments.file_size:
            run_size += record_size
            merged = log.read(run_start, run_size)
            chunks[-1:] = [chunks[-1], record] if merged is None else [merged]
        else:
            chunks.append(record)
            run_start, run_size = physical_offset, record_size
        status = FetchStatus.FOUND
        skip_until = -1
        count += 1
        size += record_size
    return FetchResult(
        status,
        offset + scanned,
        queue.min,
        queue.end,
        chunks,
        count,
        size,
        log_end - physical_offset > limits.memory,
        examined if matches is not None else size,
    )
