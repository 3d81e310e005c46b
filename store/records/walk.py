"""Reading the commit log in batches of records, for recovery, rebuilding, verifying and all readers of whole stores.

A record's start is known only from the size of the one before it, so finding the starts is a tight Python loop. All
else is done with numpy for a batch of records at once: the heads are gathered into columns, lengths and offsets are
compared. One call per record remains, for the CRC of its body.

A record is accepted if it passes all checks of `checked_batch`. The batch ends before the first one that does not.
"""

from __future__ import annotations

import enum
import struct
from typing import Final, NamedTuple

import numpy as np

from rocketwire.store.records.checked_batch import CheckedRecords
from rocketwire.store.records.columns import NO_RECORDS, Buffer, RecordColumns
from rocketwire.wire.facts.record import BLANK_MAGIC, END_OF_FILE_BLANK, MAGIC_V1, MAGIC_V2, SMALLEST_RECORD

#: Records a call takes by default: few enough to stay in the processor's cache from the first look to the CRC.
MAX_RECORDS: Final = 2048
_BLANK_SIZE: Final[int] = END_OF_FILE_BLANK.sizeof()
_SIZE_AND_MAGIC: Final = struct.Struct(">ii")


class WalkEnd(enum.Enum):
    """Why a walk ended."""

    MORE = "the buffer ends inside a record"
    BLANK = "the rest of the file is unused"
    UNWRITTEN = "nothing was ever written here"
    DAMAGED = "no record that can be believed"
    FULL = "the wanted number of records"


class WalkResult(NamedTuple):
    """The result of a walk: whole records, where the next one begins, why it ended there, and if DAMAGED the cause."""

    records: RecordColumns
    position: int
    stop: WalkEnd
    reason: str


def walk(
    buffer: Buffer,
    *,
    base: int | None,
    position: int = 0,
    end: int | None = None,
    whole: bool,
    check_crc: bool = True,
    lost_pages: bool = False,
    most: int = MAX_RECORDS,
) -> WalkResult:
    """Read records from a position of a buffer on, until something else comes.

    Args:
        buffer: A commit log file, or a part of one that begins at a page of it (at a multiple of 4096 bytes).
        base: Physical offset of the buffer's first byte; None does not check the records' own physical offsets.
        position: Where a record begins.
        end: Position of the buffer at which reading ends.
        whole: The buffer (or `end`) is the end of the file: a record that runs past it is damaged. Else the walk ends
            with MORE there.
        check_crc: Whether bodies are checked against their CRC.
        lost_pages: Whether pages may be lost, so that properties are rejected of which a page is all zero.
        most: At most so many records.
    """
    end = len(buffer) if end is None else end
    starts, position, stop, reason = _chain(buffer, position, end, most, whole=whole)
    if not starts:
        return WalkResult(NO_RECORDS, position, stop, reason)
    batch = CheckedRecords(buffer, np.array(starts, np.int64), base)
    batch.check(check_crc=check_crc, lost_pages=lost_pages)
    if batch.reason:
        return WalkResult(batch.records, starts[batch.count], WalkEnd.DAMAGED, batch.reason)
    return WalkResult(batch.records, position, stop, reason)


def _chain(buffer: Buffer, position: int, end: int, most: int, *, whole: bool) -> tuple[list[int], int, WalkEnd, str]:
    """Where records begin, by their sizes and magic numbers alone; where the next one begins; why the walk ends."""
    unpack = _SIZE_AND_MAGIC.unpack_from
    starts: list[int] = []
    add = starts.append
    last = end - _BLANK_SIZE
    size = magic = 0
    for _ in range(most):
        if position > last:
            if not whole:
                return starts, position, WalkEnd.MORE, ""
            return starts, position, WalkEnd.DAMAGED, "its file ends without an end-of-file blank"
        size, magic = unpack(buffer, position)
        if (magic != MAGIC_V1 and magic != MAGIC_V2) or size < SMALLEST_RECORD or size > end - position:  # noqa: PLR1714 - fast
            break
        add(position)
        position += size
    else:
        return starts, position, WalkEnd.FULL, ""
    if magic == BLANK_MAGIC:
        return starts, position, WalkEnd.BLANK, ""
    if size == 0:
        return starts, position, WalkEnd.UNWRITTEN, ""
    if magic not in (MAGIC_V1, MAGIC_V2):
        return starts, position, WalkEnd.DAMAGED, f"its magic number {magic & 0xFFFFFFFF:08X} is unknown"
    if size < SMALLEST_RECORD:
        return (
            starts,
            position,
            WalkEnd.DAMAGED,
            f"its size {size} is less than the smallest record's {SMALLEST_RECORD}",
        )
    if whole:
        return starts, position, WalkEnd.DAMAGED, f"its size {size} is more than the {end - position} left in its file"
    return starts, position, WalkEnd.MORE, ""
