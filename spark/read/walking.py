"""Reads a part of the log from its beginning to its end, past damage.

A record that begins in the part belongs to it, wherever it ends. Records that existed when the read was planned and do
not exist any more are lost. Bytes that never were a record are damaged, and the next whole one is searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.read.conditions import RowConditions
from rocketwire.spark.read.rows import DamagedPlace, Rows, record_in
from rocketwire.spark.request.options import DamageMode
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import ReadRequest
from rocketwire.store.offline.read.heads import LARGEST_HEAD, promised_size
from rocketwire.store.offline.read.log import LogFileReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.salvage import next_record
from rocketwire.store.offline.read.scan import next_place
from rocketwire.store.records.walk import WalkEnd, walk

#: Bytes read at once.
BLOCK: Final = 2 << 20
#: A record ends with its topic, of a character at least, the length of its properties, and these.
_RECORDS_END: Final = 3
_LENGTHS: Final = "its lengths do not fit together"
_HOLE: Final = "nothing was ever written here, but behind it"


def walked(span: LogSpan, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The selected messages of a span.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: a file was removed or cut, and options make this an error.
        RecordMalformed: something is damaged, and options make this an error.
    """
    conditions = RowConditions(request, span.broker)
    for file in span.files:
        start, end = max(span.start, file.start), min(span.end, file.end)
        try:
            with LogFileReader(file, end) as opened:
                yield from _Walk(opened, request, rows, conditions).run(start, end)
        except FileGone:
            what = f"{file.path} was removed since the read was planned"
            lost(what, fail=request.options.fail_on_data_loss)


class _Walk:
    """The walk over one file."""

    def __init__(self, file: LogFileReader, request: ReadRequest, rows: Rows, conditions: RowConditions) -> None:
        self._file = file
        self._request = request
        self._rows = rows
        self._conditions = conditions
        #: The size of the record to be read next, where that is more than a block, or than the rest of the part.
        self._size = 0

    def run(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        at: int | None = start
        while at is not None and at < end:
            length = min(self._file.end - at, max(min(BLOCK, end - at), self._size, LARGEST_HEAD))
            data = self._file.read(at, length)
            whole = len(data) < length or at + length == self._file.end
            position, stop, reason = 0, WalkEnd.FULL, ""
            while stop is WalkEnd.FULL:
                records, position, stop, reason = walk(data, base=at, position=position, whole=whole, check_crc=False)
                for place, size in zip(records.position.tolist(), records.size.tolist(), strict=True):
                    record = record_in(data, place, size)
                    if record is not None and at + place < end and self._conditions.fits(record):
                        yield from self._rows.of(record, self._file.path)
            if stop is WalkEnd.MORE:
                at = self._more(data, at, position, end)
            elif stop is WalkEnd.BLANK or at + position >= end:
                at = None
            else:
                at = self._past(at + position, end, stop, reason, short=len(data) < length)

    def _more(self, data: bytes, at: int, position: int, end: int) -> int | None:
        """Where to continue when a block ends inside a record."""
        if position:
            self._size = 0
            return at + position
        # Not even one fits: room for it is made only if its head is valid.
        size = promised_size(data, 0, at)
        if size is None or size == self._size:
            return self._past(at, end, WalkEnd.DAMAGED, _LENGTHS, short=False)
        self._size = size
        return at

    def _past(self, here: int, end: int, stop: WalkEnd, reason: str, *, short: bool) -> int | None:
        """Where to continue behind bytes that are no record; None at the end."""
        self._size = 0
        unwritten = stop is WalkEnd.UNWRITTEN
        following = next_record(self._file, here + 1) if unwritten else next_place(self._file, here)
        following = None if following is None or following >= end else following
        if following is None and (unwritten or short or self._ends_in_zeros(end)):
            what = f"{self._file.path} has nothing from physical offset {here} to {end}: it was cut, or never written"
            lost(what, fail=self._request.options.fail_on_data_loss)
        # A damaged record has no topic. If topics are restricted, it is unknown whether it belonged to them.
        elif not self._request.is_restricted or self._request.options.mode is DamageMode.FAILFAST:
            self._rows.damaged(DamagedPlace(self._file.path, here, _HOLE if unwritten else reason))
        return following

    def _ends_in_zeros(self, end: int) -> bool:
        """Whether there are zeros before the part's end, where a record ended inside the file: it is lost."""
        start = end - _RECORDS_END
        return start >= self._file.start and end < self._file.end and not any(self._file.read(start, _RECORDS_END))
