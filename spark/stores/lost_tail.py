"""Detects a missing end of the log of a store at rest, whose newest file was removed or cut.

A broker that rolls to the next file writes there at once, so a log that ends where a file does may lack one. So may one
if a queue points behind its end. Then all queues are read, and trusted if an entry points exactly to the log's end, or
if the checkpoint shows later messages, too: a flipped bit in an entry is not a lost message.
"""

from __future__ import annotations

from typing import NamedTuple

from rocketwire.spark.files.far import in_slices
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import CLOCK_MARGIN, ReadRequest
from rocketwire.spark.stores.log_end import LogEnd
from rocketwire.store.disk.segment import file_name
from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.read.ahead import EntriesAhead, entries_ahead
from rocketwire.store.offline.read.config import checkpoint
from rocketwire.store.offline.read.directory import RowFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.log import LogFileReader


class LostTail(NamedTuple):
    """The lost end of a log.

    Attributes:
        start: Physical offset of the present end.
        end: End of the last record that a queue points to; `start` if only the checkpoint shows later ones.
        file: The last file that has anything.
        what: What is missing, and what shows it.
        queues: The entries that point behind it.
    """

    start: int
    end: int
    file: RowFile
    what: str
    queues: tuple[EntriesAhead, ...]

    def description(self, broker: str, request: ReadRequest) -> None:
        """Report it, if requested messages may be lost.

        Raises:
            StoreUnreadable: a file cannot be read.
            DataLost: they are, and options make this an error.
        """
        wanted = [queue for queue in self.queues if _takes(request, queue)]
        if self.queues and not wanted:
            return
        if request.has_times and request.until + CLOCK_MARGIN <= _newest_time(self.file):
            return
        what = f"the log of {broker} ends at physical offset {self.start}: {self.what}"
        if wanted:
            first = min(wanted, key=lambda queue: queue.first)
            count = sum(queue.entries for queue in wanted)
            what += f"; {count} messages are gone (first: {first.topic}, queue {first.queue_id}, offset {first.offset})"
        remedy = "Put the file back from a copy, or set failOnDataLoss to false to read what is left"
        lost(what, fail=request.options.fail_on_data_loss, remedy=remedy)


def lost_tail(directory: StoreDirectory, end: LogEnd, *, complete: bool) -> LostTail | None:
    """The missing part behind a log's end; None if nothing is missing, or if it cannot be known.

    Args:
        directory: The store.
        end: Where its log ends.
        complete: Whether consume queues point to every message; if not, the checkpoint alone decides.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    file = end.file
    if directory.state is not StoreState.AT_REST or file is None:
        return None
    if end.offset < file.end and end.queued < end.offset:
        return None
    queues = in_slices(directory.files, lambda some: entries_ahead(directory, some, end.offset), directory.queues)
    by = f"to which consume queues lead, up to {max((queue.end for queue in queues), default=0)}"
    if not any(queue.first == end.offset for queue in queues):
        if complete and not queues:
            return None
        flushed = _flushed(directory)
        if flushed <= _newest_time(file):
            return None
        by = by if queues else f"but the checkpoint says that messages were stored up to {flushed} ms"
    what = f"{_missing(directory, file, end)}, {by}"
    return LostTail(end.offset, max((queue.end for queue in queues), default=end.offset), file, what, tuple(queues))


def _missing(directory: StoreDirectory, file: RowFile, end: LogEnd) -> str:
    if end.offset < file.end:
        return f"{file.path} has nothing behind it"
    if file.size != directory.commit_log[0].size:
        return f"{file.path} was cut to {file.size} bytes"
    return f"{directory.root}/commitlog/{file_name(file.end)} is missing"


def _flushed(directory: StoreDirectory) -> int:
    """The store time (ms) up to which the log is on the disk by the checkpoint; 0 without one."""
    try:
        times = checkpoint(directory)
    except StoreUnreadable:
        return 0
    return 0 if times is None else times.commit_log


def _takes(request: ReadRequest, queue: EntriesAhead) -> bool:
    return request.takes_topic(queue.topic) and (request.queues is None or queue.queue_id in request.queues)


def _newest_time(file: RowFile) -> int:
    """The newest store time (ms) of a log file's records; 0 without one."""
    with LogFileReader(file) as opened:
        blocks = opened.blocks(check_crc=False)
        return max((int(block.records.store_timestamp.max(initial=0)) for block in blocks), default=0)
