"""Reads the properties of stored records: their text for filters, tags codes and due times for recovery."""

from __future__ import annotations

import mmap
import struct
from typing import Final

from rocketwire.store.layout.record import properties_of
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.record import HOST_BITS, MAGIC_AT, MAGIC_V1, RECORD_HEADS, SYS_FLAG_AT
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import property_reader

_MOST_TAGS: Final = 10_000
_BODY_AT: Final = RECORD_HEADS[0].size
_INT: Final = struct.calcsize(">i")
#: Magic, sysFlag and the body's length, which is the head's last field.
_FRONT: Final = struct.Struct(
    f">{MAGIC_AT}xi{SYS_FLAG_AT - MAGIC_AT - _INT}xi{_BODY_AT - SYS_FLAG_AT - 2 * _INT}xi"
).unpack_from
#: The lengths of topic (one byte in version 1) and properties (two).
_LENGTHS: Final = 1 + 2
_tags_of: Final = property_reader(names.TAGS.encode())
_delay_of: Final = property_reader(names.DELAY.encode())


def property_text(mapping: mmap.mmap, at: int, end: int) -> bytes:
    """The property text of the record between two positions of a file; may be empty for a damaged record."""
    try:
        magic, sys_flag, body_length = _FRONT(mapping, at)
        if magic != MAGIC_V1 or sys_flag & HOST_BITS or body_length < 0:
            with memoryview(mapping)[at:end] as record:
                return properties_of(record)
        topic_length_at = at + _BODY_AT + body_length
        return mapping[topic_length_at + mapping[topic_length_at] + _LENGTHS : end]
    except (struct.error, IndexError):
        return b""


class TagCodes(dict[bytes, int]):
    """Java's hash of each tag, cached."""

    def __missing__(self, tag: bytes) -> int:
        if len(self) >= _MOST_TAGS:
            self.clear()
        code = self[tag] = string_hash(tag.decode("utf-8", "replace")) if tag else 0
        return code

    def of(self, texts: list[bytes]) -> list[int]:
        """The code of the tag in each record's properties, 0 without one."""
        return [self[_tags_of(text) or b""] for text in texts]


def delivery_time(text: bytes, store_timestamp: int, delay_levels: tuple[int, ...]) -> int | None:
    """When a message of the schedule topic is due (ms), which its queue entry holds in place of the tags code.

    None when it has no delay level.
    """
    level = _delay_of(text)
    if level is None or not level.isdigit() or not int(level):
        return None
    return store_timestamp + delay_levels[min(int(level), len(delay_levels)) - 1]
