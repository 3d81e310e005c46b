"""Reading a commit log file past damage: every whole record in it, and the ranges between them that hold none.

Behind damage the next record is searched by its magic number, and accepted if its own physical offset matches its
position and all other fields are consistent (store.records.checked_batch). So a record that was copied into the body of
another is not mistaken for one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from rocketwire.store.offline.read.log import BLOCK, LogFileReader, RecordBlock
from rocketwire.store.records.walk import WalkEnd
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.record import (
    MAGIC_AT,
    MAGIC_V1,
    MAGIC_V2,
    PHYSICAL_OFFSET_AT,
    SMALLEST_RECORD,
    TOTAL_SIZE_AT,
)
from rocketwire.wire.message import MessageRecord, body_crc, decode_record

_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_MAGICS: Final = (_INT32.pack(MAGIC_V1), _INT32.pack(MAGIC_V2))
#: What the magic numbers of both versions begin with.
_COMMON: Final = _MAGICS[0][:3]
_HEAD: Final = PHYSICAL_OFFSET_AT + _INT64.size
#: Bytes read at once: few enough that they are still in the processor's cache when they are searched.
_CACHED: Final = 2 << 20
_ZEROS: Final = bytes(BLOCK + _HEAD)


class LostPart(NamedTuple):
    """A part of the file, from one physical offset to another, that holds no record, and why; records follow it."""

    start: int
    end: int
    reason: str


class LogFileTail(NamedTuple):
    """Where the file's last record ends (or the file begins), and what comes there: BLANK, UNWRITTEN or DAMAGED."""

    start: int
    stop: WalkEnd
    reason: str


class WholeRecord(NamedTuple):
    """A record, and the physical offset behind it."""

    end: int
    message: MessageRecord


def sweep(
    file: LogFileReader, *, limit: int | None = None, check_crc: bool = True
) -> Iterator[RecordBlock | LostPart | LogFileTail]:
    """Everything in a file: blocks of records and lost parts in their order, a tail as the last.

    Args:
        file: The file.
        limit: Behind this physical offset no search past damage: a broker may be writing there.
        check_crc: Whether bodies are checked.

    Raises:
        StoreUnreadable: a read failed.
    """
    at: int | None = None
    while True:
        for block in file.blocks(at, check_crc=check_crc, block=_CACHED):
            if len(block.records.position):
                yield block
            end, stop, reason = block.next, block.stop, block.reason
        found = None
        if stop is not WalkEnd.BLANK and (limit is None or end < limit):
            found = next_record(file, end + 1)
        if found is None:
            yield LogFileTail(end, stop, reason)
            return
        yield LostPart(end, found, reason or "its size is zero")
        at = found


def next_record(file: LogFileReader, offset: int) -> int | None:
    """Physical offset of the first whole record of a file at or behind a physical offset; None when there is none.

    Raises:
        StoreUnreadable: a read failed.
    """
    at = offset
    while True:
        data = file.read(at, BLOCK + _HEAD)
        # A comparison costs a tenth of the search, and nearly all of a file that was never written is zeros.
        zeros = _ZEROS if len(data) == len(_ZEROS) else bytes(len(data))
        place = -1 if data == zeros else data.find(_COMMON, MAGIC_AT)
        while 0 <= place <= len(data) - _HEAD + MAGIC_AT:
            start = place - MAGIC_AT
            if _may_be_record(data, start, at + start) and is_record(file, at + start):
                return at + start
            place = data.find(_COMMON, place + 1)
        if len(data) < BLOCK + _HEAD:
            return None
        at += BLOCK


def _may_be_record(data: bytes, start: int, physical_offset: int) -> bool:
    (own,) = _INT64.unpack_from(data, start + PHYSICAL_OFFSET_AT)
    return own == physical_offset and data[start + MAGIC_AT : start + MAGIC_AT + 4] in _MAGICS


def is_record(file: LogFileReader, offset: int) -> bool:
    """Whether a whole record begins at a physical offset of a file.

    Raises:
        StoreUnreadable: a read failed.
    """
    return record_at(file, offset) is not None


def record_at(file: LogFileReader, offset: int) -> WholeRecord | None:
    """The whole record, by the checks of a walk, that begins at a physical offset of a file; None when there is none.

    Raises:
        StoreUnreadable: a read failed.
    """
    head = file.read(offset, _HEAD)
    if len(head) < _HEAD:
        return None
    size, own = _INT32.unpack_from(head, TOTAL_SIZE_AT)[0], _INT64.unpack_from(head, PHYSICAL_OFFSET_AT)[0]
    if own != offset or size < SMALLEST_RECORD or offset + size > file.end:
        return None
    try:
        message = decode_record(file.read(offset, size), check_crc=False)
    except WireError:
        return None
    good = not message.body or body_crc(message.body) == message.body_crc
    return WholeRecord(offset + size, message) if good else None
