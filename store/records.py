"""Reading the commit log record by record, as recovery and the late index do.

Only the body has a checksum, so a record is believed when everything else fits together as well: its magic, its
lengths, its own physical offset, and no part of its properties on one page that is all zero. The last is how a
page looks that the disk never got while its neighbours were written; the body would fail its CRC, the properties
would pass.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

from rocketwire.store.consume_queue import SCHEDULE_TOPIC
from rocketwire.store.segment import Segment
from rocketwire.wire import properties as names
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import (
    BLANK_MAGIC,
    BORN_HOST_AT,
    END_OF_FILE_BLANK,
    FIXED_V1_IPV4,
    HOST_V4_SIZE,
    HOST_V6_SIZE,
    MAGIC_V1,
    MAGIC_V2,
    SYS_FLAG_AT,
)
from rocketwire.wire.properties import decode_properties

_CRC_MASK: Final = 0x7FFFFFFF
_PAGE: Final = 4096
_BLANK_SIZE: Final[int] = END_OF_FILE_BLANK.sizeof()
_SIZE_AND_MAGIC: Final = struct.Struct(">ii")
_STORE_TIMESTAMP: Final = struct.Struct(">q")
_TAGS: Final = f"{names.TAGS}{names.NAME_SEP}".encode()
_ITEM_SEP: Final = ord(names.ITEM_SEP)
_MOST_TAGS: Final = 10_000
_HOST_BITS: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6


def record_head(born_host_size: int, store_host_size: int) -> struct.Struct:
    """Everything of a record up to and with the body length, for hosts of those sizes (wire.message.RECORD)."""
    v4 = f"{HOST_V4_SIZE}s"
    before, between, after = FIXED_V1_IPV4.format.split(v4)
    return struct.Struct(f"{before}{born_host_size}s{between}{store_host_size}s{after}")


_HEADS: Final = {
    born | store: record_head(HOST_V6_SIZE if born else HOST_V4_SIZE, HOST_V6_SIZE if store else HOST_V4_SIZE)
    for born in (0, SysFlag.BORN_HOST_V6)
    for store in (0, SysFlag.STORE_HOST_V6)
}
_HEAD_V4: Final = _HEADS[0]
#: The smallest record: no body, a topic and properties of no bytes.
SMALLEST: Final = _HEAD_V4.size + 1 + 2


class ScannedRecord(NamedTuple):
    """What dispatch needs of a record: a tuple, because millions are made during a recovery."""

    physical_offset: int
    size: int
    topic: str
    queue_id: int
    queue_offset: int
    sys_flag: int
    store_timestamp: int
    tags_code: int
    unique_key: str | None
    keys: str | None


_new_record = tuple.__new__


class Scanner:
    """Reads records of one commit log; remembers topics and tags it has seen.

    `keys` says whether the records' keys are wanted, `check_crc` whether bodies are checked.
    `stop` says after `read` gave None why: 'blank' (the rest of the file is unused), 'unwritten' (a size of zero)
    or 'damaged'; `properties_length` is that of the last record read.
    """

    def __init__(self, delay_levels: tuple[int, ...], *, check_crc: bool, keys: bool) -> None:
        self.stop = ""
        self.properties_length = 0
        self._delay_levels = delay_levels
        self._check_crc = check_crc
        self._keys = keys
        self._topics: dict[bytes, str] = {}
        self._tags: dict[bytes, int] = {}

    def read(self, segment: Segment, position: int) -> ScannedRecord | None:
        """The record at a position of a file, or None and `stop`."""
        view = segment.view
        if position + _BLANK_SIZE > segment.size:
            self.stop = "damaged"
            return None
        size, magic = _SIZE_AND_MAGIC.unpack_from(view, position)
        if magic != MAGIC_V1 and magic != MAGIC_V2:  # noqa: PLR1714 - twice as fast as a membership test
            if magic == BLANK_MAGIC:
                self.stop = "blank"
            else:
                self.stop = "unwritten" if size == 0 else "damaged"
            return None
        record = self._read(segment, view, position, size, magic)
        if record is None:
            self.stop = "unwritten" if size == 0 else "damaged"
        return record

    def _read(  # noqa: C901 - a list of everything that makes a record
        self, segment: Segment, view: memoryview, position: int, size: int, magic: int
    ) -> ScannedRecord | None:
        if size < SMALLEST or position + size > segment.size:
            return None
        end = position + size
        fields = _HEAD_V4.unpack_from(view, position)
        head = _HEAD_V4
        if fields[7] & _HOST_BITS:
            head = _HEADS[fields[7] & _HOST_BITS]
            if size < head.size + 3:
                return None
            fields = head.unpack_from(view, position)
        _, _, crc, queue_id, _, queue_offset, physical_offset, sys_flag, _, _, stored, _, _, _, length = fields
        body = position + head.size
        at = body + length
        if length < 0 or at + 3 > end or physical_offset != segment.start + position:
            return None
        if magic == MAGIC_V1:
            topic_length = view[at]
            at += 1
        else:
            topic_length = view[at] << 8 | view[at + 1]
            at += 2
        tail = bytes(view[at:end])
        if topic_length + 2 > len(tail):
            return None
        if len(tail) - topic_length - 2 != tail[topic_length] << 8 | tail[topic_length + 1]:
            return None
        if self._check_crc and length and zlib.crc32(view[body : body + length]) & _CRC_MASK != crc:
            return None
        text = tail[topic_length + 2 :]
        if 0 in text and _has_lost_page(text, at + topic_length + 2):
            return None
        topic = self._topics.get(tail[:topic_length])
        if topic is None:
            topic = self._new_topic(tail[:topic_length])
            if topic is None:
                return None
        self.properties_length = len(text)
        tags_code, unique_key, keys = self._properties(text, topic, stored)
        return _new_record(
            ScannedRecord,
            (
                physical_offset,
                size,
                topic,
                queue_id,
                queue_offset,
                sys_flag,
                stored,
                tags_code,
                unique_key,
                keys,
            ),
        )

    def _new_topic(self, name: bytes) -> str | None:
        if not name or 0 in name:
            return None
        try:
            topic = self._topics[name] = name.decode()
        except UnicodeDecodeError:
            return None
        return topic

    def _properties(self, text: bytes, topic: str, stored: int) -> tuple[int, str | None, str | None]:
        """Tags code, unique key and keys."""
        if not text:
            return 0, None, None
        if not self._keys and topic != SCHEDULE_TOPIC:
            at = text.find(_TAGS)
            if at < 0:
                return 0, None, None
            if text.find(_TAGS, at + 1) < 0 and (at == 0 or text[at - 1] == _ITEM_SEP):
                # One item is called so, or ends like that one's name: no need to take the text apart.
                stop = text.find(_ITEM_SEP, at)
                return self._tags_code(text[at + len(_TAGS) : None if stop < 0 else stop]), None, None
        properties = decode_properties(text.decode("utf-8", "replace"))
        tags_code = self._tags_code(properties.get(names.TAGS, "").encode("utf-8", "replace"))
        if topic == SCHEDULE_TOPIC:
            level = properties.get(names.DELAY, "")
            if level.isascii() and level.isdigit() and int(level) > 0:
                tags_code = stored + self._delay_levels[min(int(level), len(self._delay_levels)) - 1]
        return tags_code, properties.get(names.UNIQ_KEY), properties.get(names.KEYS)

    def _tags_code(self, tags: bytes) -> int:
        known = self._tags.get(tags)
        if known is None:
            if len(self._tags) >= _MOST_TAGS:
                self._tags.clear()
            known = self._tags[tags] = string_hash(tags.decode("utf-8", "replace"))
        return known


def _has_lost_page(text: bytes, at: int) -> bool:
    """Whether a part of the text at file position `at` that stands on one page is nothing but zeros."""
    start = 0
    while start < len(text):
        stop = min(len(text), start + _PAGE - (at + start) % _PAGE)
        if text.count(0, start, stop) == stop - start:
            return True
        start = stop
    return False


def store_timestamp(record: memoryview) -> int:
    """Store timestamp in ms of a whole record."""
    (sys_flag,) = struct.unpack_from(">i", record, SYS_FLAG_AT)
    born = HOST_V6_SIZE if sys_flag & SysFlag.BORN_HOST_V6 else HOST_V4_SIZE
    (timestamp,) = _STORE_TIMESTAMP.unpack_from(record, BORN_HOST_AT + born)
    return int(timestamp)
