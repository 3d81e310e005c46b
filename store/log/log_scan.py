"""Searching the commit log for records that contain certain bytes, a part at a time.

A byte search is much faster than decoding each record. The caller checks the records found, because the same bytes may
be in any body.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.wire.facts.record import MAGIC_AT, MAGIC_V1, MAGIC_V2

#: Records of one part, which takes some 0.1 ms.
_STEP: Final = 128
#: More than the first fields of any record.
_HEAD: Final = 128


class ScanResult(NamedTuple):
    """Whole records that hold the bytes, in the log's order, and where the next part begins."""

    records: list[memoryview]
    next_offset: int


def scan(log: CommitLog, offset: int, end: int, needle: bytes) -> ScanResult:
    """Search some of the records between two physical offsets.

    Args:
        log: A log that is recovered.
        offset: Where a record begins, or a file.
        end: Where the search ends: `next_offset` is this then, or more.
        needle: What the records hold.
    """
    from rocketwire.store.records.walk import WalkEnd, walk  # noqa: PLC0415 - needs numpy, the start of an empty store does not

    offset = max(offset, log.start)
    segment = log.segments.find(offset)
    if segment is None:
        return ScanResult([], log.next_file(offset))
    buffer = segment.mapping
    walked = walk(
        buffer,
        base=segment.start,
        position=offset - segment.start,
        end=min(end, segment.end) - segment.start,
        whole=segment.end <= end,
        check_crc=False,
        most=_STEP,
    )
    starts = walked.records.position.tolist()
    found: list[memoryview] = []
    at = offset - segment.start
    while (at := buffer.find(needle, at, walked.position)) >= 0:
        number = bisect_right(starts, at) - 1
        record_end = starts[number] + int(walked.records.size[number])
        if at + len(needle) <= record_end:  # else a part of it is in the next record
            found.append(segment.view[starts[number] : record_end])
        at = record_end
    following = segment.start + walked.position
    return ScanResult(found, following if walked.stop is WalkEnd.FULL else log.next_file(following))


def file_before(log: CommitLog, timestamp: int) -> int:
    """Start of the newest file whose first message was stored before a time in ms; of the oldest one if none was."""
    files = log.segments
    for number in range(len(files) - 1, 0, -1):
        start = files[number].start
        head = log.read(start, _HEAD)
        magic = 0 if head is None else int.from_bytes(head[MAGIC_AT : MAGIC_AT + 4], signed=True)
        if head is not None and magic in (MAGIC_V1, MAGIC_V2) and store_timestamp(head) < timestamp:
            return start
    return log.start
