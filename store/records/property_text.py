"""Message properties read from stored records without decoding all of them: for filters, dispatch and recovery.

The text is `name 0x01 value 0x02 name 0x01 value`. A name nearly always occurs once, right behind a separator; then its
value is what follows. Any other text is decoded by wire.properties, so that the result is the same.
"""

from __future__ import annotations

import mmap
import struct
from typing import Final

from rocketwire.store.layout.record import HOST_BITS, head_of, properties_of
from rocketwire.wire import properties as names
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MAGIC_AT, MAGIC_V1, SYS_FLAG_AT
from rocketwire.wire.properties import ITEM_SEP, NAME_SEP, decode_properties

_ITEM_SEP: Final = ITEM_SEP.encode()
_MOST_TAGS: Final = 10_000
_BODY_AT: Final = head_of(0).size
_INT: Final = struct.calcsize(">i")
#: Magic, sysFlag and the body's length, which is the head's last field.
_FRONT: Final = struct.Struct(
    f">{MAGIC_AT}xi{SYS_FLAG_AT - MAGIC_AT - _INT}xi{_BODY_AT - SYS_FLAG_AT - 2 * _INT}xi"
).unpack_from
#: The lengths of topic (one byte in version 1) and properties (two).
_LENGTHS: Final = 1 + 2


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


def key_of(name: str) -> bytes:
    """The search text of `value_of` for a name, to be made once for each name."""
    return (name + NAME_SEP).encode()


_TAGS: Final = key_of(names.TAGS)
_DELAY: Final = key_of(names.DELAY)


def value_of(text: bytes, key: bytes) -> bytes:
    """The value of a property, empty when there is none."""
    at = text.find(key)
    if at < 0:
        return b""
    if (at and text[at - 1] != _ITEM_SEP[0]) or text.find(key, at + 1) >= 0:
        name = key[:-1].decode()
        return decode_properties(text.decode("utf-8", "replace")).get(name, "").encode("utf-8", "replace")
    start = at + len(key)
    stop = text.find(_ITEM_SEP, start)
    return text[start:] if stop < 0 else text[start:stop]


class TagCodes(dict[bytes, int]):
    """Java's hash of each tag, cached."""

    def __missing__(self, tag: bytes) -> int:
        if len(self) >= _MOST_TAGS:
            self.clear()
        code = self[tag] = string_hash(tag.decode("utf-8", "replace")) if tag else 0
        return code

    def of(self, texts: list[bytes]) -> list[int]:
        """The code of the tag in each record's properties, 0 without one."""
        codes: list[int] = []
        add = codes.append
        for text in texts:
            # The fast path of `value_of`, inlined: a call for each text would double the time.
            at = text.find(_TAGS)
            if at > 0 and text[at - 1] == _ITEM_SEP[0] and text.rfind(_TAGS) == at:
                start = at + len(_TAGS)
                stop = text.find(_ITEM_SEP, start)
                add(self[text[start:] if stop < 0 else text[start:stop]])
            else:
                add(self[value_of(text, _TAGS)])
        return codes


def delivery_time(text: bytes, store_timestamp: int, delay_levels: tuple[int, ...]) -> int | None:
    """When a message of the schedule topic is due (ms), which its queue entry holds in place of the tags code.

    None when it has no delay level.
    """
    level = value_of(text, _DELAY)
    if not level.isdigit() or not int(level):
        return None
    return store_timestamp + delay_levels[min(int(level), len(delay_levels)) - 1]
