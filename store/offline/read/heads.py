"""Decoding the fixed head of one record, which may be damaged or no record at all."""

from __future__ import annotations

import struct
from typing import Final

from rocketwire.wire.facts.record import (
    HOST_BITS,
    MAGIC_V1,
    MAGIC_V2,
    MAX_PROPERTIES_LENGTH,
    MAX_TOPIC_LENGTH_V2,
    RECORD_HEADS,
    SMALLEST_RECORD,
    SYS_FLAG_AT,
)

_INT32: Final = struct.Struct(">i")
#: Bytes that hold the head of any record.
LARGEST_HEAD: Final = RECORD_HEADS[HOST_BITS].size
#: Topic and properties at their longest, each with its length.
_MOST_BEHIND_BODY: Final = 2 + MAX_TOPIC_LENGTH_V2 + 2 + MAX_PROPERTIES_LENGTH


def head_marks(head: bytes, physical_offset: int) -> tuple[int, int] | None:
    """Store time in ms, and the body's CRC, of the record that a buffer begins with.

    None when it is none of that physical offset.
    """
    form = _form_of(head)
    if form is None:
        return None
    _, magic, body_crc, _, _, _, own_offset, _, _, _, store_timestamp, *_ = form.unpack_from(head)
    fits = magic in (MAGIC_V1, MAGIC_V2) and own_offset == physical_offset
    return (store_timestamp, body_crc) if fits else None


def head_store_time(head: bytes, physical_offset: int) -> int | None:
    """Store time in ms of the record that a buffer begins with; None when it is none of that physical offset."""
    marks = head_marks(head, physical_offset)
    return None if marks is None else marks[0]


def promised_size(buffer: bytes, position: int, physical_offset: int) -> int | None:
    """The size of the record whose head is at a position, if all lengths and offsets in it are consistent.

    None when they do not, or the buffer ends within the head.
    """
    head = buffer[position : position + LARGEST_HEAD]
    form = _form_of(head)
    if form is None:
        return None
    size, magic, _, _, _, _, own_offset, *_, body_length = form.unpack_from(head)
    behind = size - form.size - body_length
    fits = magic in (MAGIC_V1, MAGIC_V2) and own_offset == physical_offset and body_length >= 0
    return int(size) if fits and 0 <= behind <= _MOST_BEHIND_BODY else None


def _form_of(head: bytes) -> struct.Struct | None:
    """How the head of a record is laid out, by its sys flag; None when there are fewer bytes than that takes."""
    if len(head) < SMALLEST_RECORD:
        return None
    (sys_flag,) = _INT32.unpack_from(head, SYS_FLAG_AT)
    form = RECORD_HEADS[sys_flag & HOST_BITS]
    return form if len(head) >= form.size else None
