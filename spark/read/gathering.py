"""Reads the messages that entries of consume queues point to, in the order of the log, each part of it once at most."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.columns import kernel
from rocketwire.spark.columns.kernel import Positions
from rocketwire.spark.plan.entries import Entries
from rocketwire.spark.plan.partitions import LogSpan, QueueRange
from rocketwire.spark.read.rows import DamagedPlace, Rows
from rocketwire.spark.read.selecting import RowConditions
from rocketwire.spark.read.walking import BLOCK, MOST_ROWS
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.request.topics import is_hidden
from rocketwire.store.layout.consume_queue import HIGHEST_EXT_ADDRESS
from rocketwire.store.offline.read.directory import RowFile
from rocketwire.store.offline.read.heads import LARGEST_HEAD, promised_size
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX

#: Bytes between two messages that cost less to read than a second call.
_NEAR: Final = 32 << 10
_HEAD: Final = 8
_ENTRIES_GONE: Final = (
    "Set failOnDataLoss to false to read what is left; if the log has the messages still, rocketwire store repair "
    "makes its queues again"
)
_REPLACED: Final = "\ufffd"


class Found(NamedTuple):
    """Entries in columns; `queue` is the number of the range among the span's."""

    place: NDArray[np.int64]
    size: NDArray[np.int64]
    queue_offset: NDArray[np.int64]
    queue: NDArray[np.int32]

    def take(self, chosen: NDArray[Any] | slice) -> Found:
        """A selection of them."""
        return Found(self.place[chosen], self.size[chosen], self.queue_offset[chosen], self.queue[chosen])


def entries_of(span: LogSpan, request: ReadRequest) -> Found:
    """The entries of a span, in the order of the queues, without those excluded by their tags code.

    Raises:
        StoreUnreadable: a file of a queue cannot be read.
        DataLost: entries are gone, and options make this an error.
    """
    columns: list[list[NDArray[Any]]] = [[np.empty(0, np.int64)] for _ in Found._fields]
    codes = _tags_codes(request)
    for number, queue in enumerate(span.queues or ()):
        with Entries(queue) as reader:
            offsets, entries, gone = reader.written(queue.first, queue.end)
        if gone:
            what = f"{gone} entries of {queue.topic}, queue {queue.queue_id}, are gone from {queue.path}"
            lost(what, fail=request.options.fail_on_data_loss, remedy=_ENTRIES_GONE)
        if codes is not None and not is_hidden(queue.topic):
            found = entries["tags_code"]
            kept = np.isin(found, codes) | (found <= HIGHEST_EXT_ADDRESS)
            offsets, entries = offsets[kept], entries[kept]
        columns[0].append(entries["physical_offset"])
        columns[1].append(entries["size"].astype(np.int64))
        columns[2].append(offsets)
        columns[3].append(np.full(len(offsets), number, np.int32))
    place, size, queue_offset, queue_number = (np.concatenate(column) for column in columns)
    found_all = Found(place, size, queue_offset, queue_number.astype(np.int32))
    if span.clipped:
        return found_all.take((place >= span.start) & (place < span.end))
    return found_all


def _tags_codes(request: ReadRequest) -> NDArray[np.int64] | None:
    """Hashes of the requested tags; None if hashes do not suffice."""
    tags = request.narrowed.tags
    # Tags that are not UTF-8 are shown with replacement characters, but hashed as Java does.
    if tags is None or any(_REPLACED in tag for tag in tags):
        return None
    return np.array([string_hash(tag) for tag in tags], np.int64)


def outside(span: LogSpan, found: Found, request: ReadRequest) -> tuple[Found, NDArray[np.intp]]:
    """The entries that point into the log's files, with the numbers of these; the others are lost.

    Raises:
        DataLost: there are others, and options make this an error.
    """
    starts = np.array([file.start for file in span.files], np.int64)
    ends = np.array([file.end for file in span.files], np.int64)
    numbers = np.searchsorted(starts, found.place, "right") - 1
    inside = numbers >= 0
    if len(ends):
        inside &= found.place < ends[numbers]
    if not inside.all():
        count, first = int(np.count_nonzero(~inside)), int(np.flatnonzero(~inside)[0])
        queue = (span.queues or ())[int(found.queue[first])]
        where = f"{queue.topic}, queue {queue.queue_id}, offset {int(found.queue_offset[first])}"
        what = f"{count} messages are not in the log of {span.broker}, to which their queues lead (first: {where})"
        lost(what, fail=request.options.fail_on_data_loss)
    return found.take(inside), numbers[inside]


def gathered(span: LogSpan, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The selected messages of a span's queues.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: messages are gone, and options make this an error.
        RecordMalformed: something is damaged, and options make this an error.
    """
    found, numbers = outside(span, entries_of(span, request), request)
    order = np.argsort(found.place, kind="stable")
    found, numbers = found.take(order), numbers[order]
    wanted = RowConditions(request, span.broker)
    with CommitLogReader(span.files) as log:
        reader = _Reader(span, request, rows, log)
        for part, file in _parts(span, log, found, numbers):
            view, positions = reader.read(part, file)
            yield from rows.of(view, wanted.of_entries(view, positions), file.path)
    yield from rows.rest()


class _Part(NamedTuple):
    """Entries of one file, to be read at once: `reads` are ranges of bytes, `run` is the number of an entry's range."""

    found: Found
    reads: list[tuple[int, int]]
    run: NDArray[np.intp]


def _parts(
    span: LogSpan, log: CommitLogReader, found: Found, numbers: NDArray[np.intp]
) -> Iterator[tuple[_Part, RowFile]]:
    if not len(numbers):
        return
    ends = np.array([file.end for file in span.files], np.int64)
    stops = np.minimum(found.place + _lengths(log, found), ends[numbers])
    new = np.ones(len(numbers), bool)
    new[1:] = (found.place[1:] > np.maximum.accumulate(stops)[:-1] + _NEAR) | (numbers[1:] != numbers[:-1])
    new[1:] |= found.place[1:] // BLOCK != found.place[:-1] // BLOCK
    firsts = np.flatnonzero(new)
    run = np.cumsum(new) - 1
    starts = found.place[firsts].tolist()
    lengths = (np.maximum.reduceat(stops, firsts) - found.place[firsts]).tolist()
    files = numbers[firsts].tolist()
    bounds = [*firsts.tolist(), len(numbers)]
    begin = total = 0
    for at in range(len(starts) + 1):
        full = at > begin and (
            at == len(starts)
            or files[at] != files[begin]
            or total + lengths[at] > BLOCK
            or bounds[at + 1] - bounds[begin] > MOST_ROWS
        )
        if full:
            chosen = slice(bounds[begin], bounds[at])
            reads = list(zip(starts[begin:at], lengths[begin:at], strict=True))
            if begin == 0 or files[begin] != files[begin - 1]:
                last = bisect_right(files, files[begin])
                _expect(
                    log,
                    span.files[files[begin]],
                    zip(islice(starts, begin, last), islice(lengths, begin, last), strict=True),
                )
            yield _Part(found.take(chosen), reads, run[chosen] - begin), span.files[files[begin]]
            begin, total = at, 0
        if at < len(starts):
            total += lengths[at]


def _expect(log: CommitLogReader, file: RowFile, reads: Iterable[tuple[int, int]]) -> None:
    try:
        log.opened(file).expect(reads)
    except FileGone:
        return  # the reader of the record reports it


def _lengths(log: CommitLogReader, found: Found) -> NDArray[np.int64]:
    """The sizes to read for messages; a large size that its message does not confirm becomes that of a head."""
    lengths = found.size
    for number in np.flatnonzero(lengths > BLOCK).tolist():
        place = int(found.place[number])
        try:
            head = log.read(place, LARGEST_HEAD)
        except FileGone:
            head = b""
        if promised_size(head, 0, place) != lengths[number]:
            lengths = lengths.copy()
            lengths[number] = LARGEST_HEAD
    return lengths


class _Reader:
    """Reads parts, and checks which of their entries point to their messages."""

    def __init__(self, span: LogSpan, request: ReadRequest, rows: Rows, log: CommitLogReader) -> None:
        self._queues: Sequence[QueueRange] = span.queues or ()
        self._light = np.array([queue.topic.startswith(LIGHT_QUEUE_PREFIX) for queue in self._queues], bool)
        self._queue_ids = np.array([queue.queue_id for queue in self._queues], np.int32)
        self._request = request
        self._rows = rows
        self._log = log
        self._buffer = bytearray(BLOCK)

    def read(self, part: _Part, file: RowFile) -> tuple[memoryview, Positions]:
        """A buffer, and the positions of the messages in it."""
        total = sum(length for _, length in part.reads)
        if total > len(self._buffer):
            self._buffer = bytearray(total)
        view = memoryview(self._buffer)[:total]
        places: list[int] = []
        limits: list[int] = []
        at = 0
        for start, length in part.reads:
            places.append(at - start)
            try:
                filled = self._log.opened(file).read_into(start, view[at : at + length])
            except FileGone:
                filled = 0
            # Bytes of an earlier part in the buffer do not belong to this one.
            view[at + filled : at + length] = bytes(length - filled)
            limits.append(start + filled)
            at += length
        positions = part.found.place + np.array(places, np.int64)[part.run]
        there = part.found.place + part.found.size <= np.array(limits, np.int64)[part.run]
        good = self._good(view, positions, part.found) & there
        if not good.all():
            self._bad(view, positions, part.found, file, good)
            positions = positions[good]
        return view, positions

    def _good(self, view: memoryview, positions: Positions, found: Found) -> NDArray[np.bool_]:
        """Which entries point to whole records with their position, size, topic, queue and queue offset."""
        good = kernel.check(view, positions, found.size, base=None)
        whole = slice(None) if good.all() else good
        there, said = positions[whole], found.take(whole)
        places, queue_ids, offsets = kernel.heads(view, there, ["physical_offset", "queue_id", "queue_offset"])
        codes, topics = kernel.topics(view, there)
        by_name = {topic.decode("utf-8", "replace"): code for code, topic in enumerate(topics)}
        wanted = np.array([by_name.get(queue.topic, -1) for queue in self._queues], np.int32)
        belongs = (codes == wanted[said.queue]) & (queue_ids == self._queue_ids[said.queue])
        belongs &= offsets == said.queue_offset
        # Light queues point to messages of other topics.
        good[whole] = (places == said.place) & (belongs | self._light[said.queue])
        return good

    def _bad(
        self, view: memoryview, positions: Positions, found: Found, file: RowFile, good: NDArray[np.bool_]
    ) -> None:
        gone: list[str] = []
        for number in np.flatnonzero(~good).tolist():
            queue = self._queues[int(found.queue[number])]
            place, size = int(found.place[number]), int(found.size[number])
            offset, position = int(found.queue_offset[number]), int(positions[number])
            if not any(view[position : position + _HEAD]):
                gone.append(f"{queue.topic}, queue {queue.queue_id}, offset {offset}")
                continue
            reason = f"the queue's entry leads to what is not its message of {size} bytes"
            self._rows.damaged(DamagedPlace(file.path, place, reason, queue.topic, queue.queue_id, offset, size))
        if gone:
            what = f"{len(gone)} messages are no longer in {file.path}, which was cut or removed (first: {gone[0]})"
            lost(what, fail=self._request.options.fail_on_data_loss)
