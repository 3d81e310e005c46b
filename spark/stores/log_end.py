"""Finds the end of a store's commit log: behind its last whole record of this moment.

The end is found by a walk, from the newest record of the last file that consume queues point to: a few queues are read,
those written last. In a log that a broker is writing, or was writing when it died, the bytes behind the last whole
record are a torn tail. At rest they are damage, and the log ends with its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Final, NamedTuple

from rocketwire.spark.files.far import in_slices
from rocketwire.store.offline.read.directory import QueueFiles, RowFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.log import LogFileReader, RecordBlock
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.offline.read.salvage import WholeRecord, next_record, record_at
from rocketwire.store.offline.read.scan import is_written
from rocketwire.store.records.walk import WalkEnd

#: Number of queues that are read for their newest record.
_QUEUES: Final = 16
#: Bytes read at once: mostly little follows the newest known record.
_BLOCK: Final = 64 << 10
#: A record's size and magic number where none was ever written.
_NOTHING: Final = bytes(8)


class LogEnd(NamedTuple):
    """Where a log ends.

    Attributes:
        offset: Physical offset behind the last whole record; where the log starts when it has none.
        file: The last file that has anything; None when none has.
        queued: The largest physical offset that the queues read point to; -1 without any.
    """

    offset: int
    file: RowFile | None = None
    queued: int = -1


def log_end(directory: StoreDirectory) -> LogEnd:
    """Find the end.

    Raises:
        StoreUnreadable: a file cannot be read. (A removed one is skipped.)
    """
    last = next((file for file in reversed(directory.commit_log) if is_written(file)), None)
    if last is None:
        return LogEnd(directory.start)
    newest = _newest(directory)
    queued = max(newest, default=-1)
    try:
        with LogFileReader(last) as file:
            return LogEnd(_end_in(file, directory, _known_record(file, newest)), last, queued)
    except FileGone:
        return LogEnd(last.start, last, queued)


def _end_in(file: LogFileReader, directory: StoreDirectory, known: WholeRecord | None) -> int:
    """Where the file ends, by a walk that begins behind a known record; None begins with the file."""
    end, torn = (file.start, None) if known is None else (known.end, _torn_start(known))
    while True:
        stop = WalkEnd.UNWRITTEN
        for block in () if file.read(end, len(_NOTHING)) == _NOTHING else file.blocks(end, block=_BLOCK):
            end, stop = block.next, block.stop
            torn = _torn(block) if len(block.records.position) else torn
        if stop is WalkEnd.BLANK:
            return file.end
        if directory.state is StoreState.AT_REST and stop is WalkEnd.UNWRITTEN:
            return end
        if directory.state is StoreState.LIVE:
            return end if torn is None else torn
        # A crash may have lost pages before others.
        found = next_record(file, end + 1)
        if found is None:
            return file.end if directory.state is StoreState.AT_REST else end if torn is None else torn
        end = found


def _torn_start(known: WholeRecord) -> int | None:
    """The same as `_torn` of a single record."""
    message = known.message
    return message.physical_offset if message.properties.endswith(b"\0") else None


def _torn(block: RecordBlock) -> int | None:
    """Where the last record of a block begins, if its last bytes may not be written yet."""
    records = block.records
    behind = int(records.position[-1]) + int(records.size[-1])
    ends_with_zero = records.properties_length[-1] > 0 and block.buffer[behind - 1] == 0
    return int(records.physical_offset[-1]) if ends_with_zero else None


def _known_record(file: LogFileReader, newest: Sequence[int]) -> WholeRecord | None:
    """The newest record of a file that a queue points to."""
    places = sorted((place for place in newest if place > file.start), reverse=True)
    return next((known for known in (record_at(file, place) for place in places) if known is not None), None)


def _newest(directory: StoreDirectory) -> list[int]:
    """The physical offsets in the newest entries of the queues read."""
    written = [queue for queue in directory.queues if queue.files]
    return in_slices(
        directory.files, _newest_of, nlargest(_QUEUES, written, key=lambda queue: queue.files[-1].modified)
    )


def _newest_of(queues: Sequence[QueueFiles]) -> Iterator[int]:
    for files in queues:
        with QueueReader(files) as queue:
            try:
                if queue.end > queue.first:
                    yield queue.entry(queue.end - 1)[0]
            except FileGone:
                continue
