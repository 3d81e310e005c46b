"""Layout of the head of a commit log record: its fields up to the body's length, with hosts of either size.

After it come the body, then topic and properties, each preceded by its length (wire.facts.record.RECORD).
"""

from __future__ import annotations

import itertools
import struct
from typing import Final

import construct as cs

from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import (
    BORN_HOST_AT,
    HOST_BITS,
    MAGIC_AT,
    PHYSICAL_OFFSET_AT,
    RECORD,
    RECORD_HEADS,
    SYS_FLAG_AT,
    TOPIC_LENGTH_FORMATS,
)
from rocketwire.wire.hosts import HOST_V4_SIZE, HOST_V6_SIZE

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")


def head_dtype(host_bits: int) -> list[tuple[str, str]]:
    """The same head as a field list for numpy.dtype (packed, big-endian); hosts are opaque bytes."""
    fields = [
        (field.name, f"{'V' if isinstance(field.subcon, cs.Bytes) else '>i'}{field.sizeof(sys_flag=host_bits)}")
        for field in itertools.takewhile(lambda field: field.name != "body", RECORD.subcons)
    ]
    return [*fields, ("body_length", f">i{RECORD.body.subcon.lengthfield.sizeof()}")]


def sys_flag_of(record: memoryview) -> int:
    """The sysFlag of a whole record."""
    return int(_INT32.unpack_from(record, SYS_FLAG_AT)[0])


def physical_offset_of(record: memoryview) -> int:
    """The physical offset in the head of a whole record."""
    return int(_INT64.unpack_from(record, PHYSICAL_OFFSET_AT)[0])


def store_timestamp(record: memoryview) -> int:
    """Store timestamp in ms of a whole record."""
    born = HOST_V6_SIZE if sys_flag_of(record) & SysFlag.BORN_HOST_V6 else HOST_V4_SIZE
    (timestamp,) = _INT64.unpack_from(record, BORN_HOST_AT + born)
    return int(timestamp)


def _topic_at(record: memoryview) -> tuple[int, int]:
    """Where the topic of a whole record begins and ends."""
    at = RECORD_HEADS[sys_flag_of(record) & HOST_BITS].size
    at += _INT32.unpack_from(record, at - _INT32.size)[0]
    lengths = TOPIC_LENGTH_FORMATS[_INT32.unpack_from(record, MAGIC_AT)[0]]
    start = at + lengths.size
    return start, start + lengths.unpack_from(record, at)[0]


def topic_of(record: memoryview) -> bytes:
    """The topic of a whole record; none of one that is damaged."""
    try:
        start, end = _topic_at(record)
    except (struct.error, KeyError):
        return b""
    return bytes(record[start:end])


def properties_of(record: memoryview) -> bytes:
    """The property text of a whole record; none of one that is damaged."""
    try:
        _, at = _topic_at(record)
        length = _INT16.unpack_from(record, at)[0]
    except (struct.error, KeyError):
        return b""
    at += _INT16.size
    return bytes(record[at : at + length])
