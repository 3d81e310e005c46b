"""The property text of a record, straight out of a mapped file: what filters are asked about, message for message.

A record ends with that text, so only what stands before it has to be measured. Records of the usual form (version 1,
hosts of IPv4) are read by two steps; for the others there is layout.record.
"""

from __future__ import annotations

import mmap
import struct
from typing import Final

from rocketwire.store.layout.record import HOST_BITS, head_of, properties_of
from rocketwire.wire.message import MAGIC_AT, MAGIC_V1, SYS_FLAG_AT

_BODY_AT: Final = head_of(0).size
_INT: Final = struct.calcsize(">i")
#: Magic, sysFlag and the body's length, which is the head's last field.
_FRONT: Final = struct.Struct(
    f">{MAGIC_AT}xi{SYS_FLAG_AT - MAGIC_AT - _INT}xi{_BODY_AT - SYS_FLAG_AT - 2 * _INT}xi"
).unpack_from
#: The lengths of topic (one byte in version 1) and properties (two).
_LENGTHS: Final = 1 + 2


def property_text(mapping: mmap.mmap, at: int, end: int) -> bytes:
    """The property text of the record between two places of a file; of a damaged one there may be none."""
    try:
        magic, sys_flag, body_length = _FRONT(mapping, at)
        if magic != MAGIC_V1 or sys_flag & HOST_BITS or body_length < 0:
            with memoryview(mapping)[at:end] as record:
                return properties_of(record)
        topic_length_at = at + _BODY_AT + body_length
        return mapping[topic_length_at + mapping[topic_length_at] + _LENGTHS : end]
    except (struct.error, IndexError):
        return b""
