"""Which of the records at some positions of a buffer are valid, checked together as numpy columns.

Only the body has a checksum, so the other fields of a record must be consistent as well: its magic, its lengths, its
own physical offset and a topic that is text. After a crash, pages may be missing (all zero) while their neighbours were
written. The body would then fail its CRC, but the properties would pass, so on demand properties of which a whole page
is zero are rejected. Without a crash such zeros are what a client sent.

These rules hold for recovery and all readers in Python; the kernel's records/ has them in C.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.record import head_dtype
from rocketwire.store.records.columns import NO_RECORDS, Buffer, RecordColumns, by_length, gather
from rocketwire.store.records.lost_pages import PAGE, has_lost_page
from rocketwire.wire.facts.record import (
    BODY_CRC_MASK,
    HOST_BITS,
    MAGIC_V1,
    MAGIC_V2,
    MAX_PROPERTIES_LENGTH,
    MAX_TOPIC_LENGTH_V1,
    MAX_TOPIC_LENGTH_V2,
    RECORD_HEADS,
    SMALLEST_RECORD,
)

_UINT32: Final = 0xFFFFFFFF
_ASCII_MAX: Final = 0x7F
#: Bytes of the length of the properties; those of the topic's length depend on the record's version.
_PROPERTIES_LENGTH: Final = 2
_HEADS: Final = {bits: np.dtype(head_dtype(bits)) for bits in RECORD_HEADS}
_HEAD_V4: Final = _HEADS[0]
_PLACES: Final = dict(_HEAD_V4.fields or {})
#: The head as words: the places of some fields, and values in the byte order of the file.
_WORD: Final = np.dtype(np.uint32)
_MAGIC_WORD, _SYS_FLAG_WORD = (_PLACES[name][1] // _WORD.itemsize for name in ("magic", "sys_flag"))
_USUAL_MAGIC, _USUAL_HOST_BITS = (int(np.array(value, ">i4").view(_WORD)) for value in (MAGIC_V1, HOST_BITS))


class CheckedRecords:
    """Records whose positions and sizes are known, checked step by step; each step cuts them at the first bad one.

    Attributes:
        records: Those that are good so far.
        reason: What is wrong with the next one; empty when all are good.
    """

    def __init__(
        self, buffer: Buffer, positions: NDArray[np.int64], base: int | None, *, believed: bool = True
    ) -> None:
        """Take records, each of which has at least the bytes of the smallest record in the buffer.

        `base` is None if their physical offsets are not checked; `believed` if their sizes and magic numbers are
        checked already.
        """
        self.reason = ""
        self._buffer = buffer
        self._octets = np.frombuffer(buffer, np.uint8)
        self._base = base
        self._believed = believed
        self.records = NO_RECORDS
        if len(positions):
            self.records = RecordColumns(gather(self._octets, positions, _HEAD_V4), {"position": positions})

    @property
    def count(self) -> int:
        """How many are good so far."""
        return len(self.records.position)

    def check(self, *, check_crc: bool, lost_pages: bool, texts: bool = True) -> None:
        """Fill the columns and check them, the cheap steps first.

        Without `texts` it is enough that all parts of a record of the usual form end within it; what its topic is, and
        whether its properties have the length in its head, was checked before.
        """
        steps = [self._read_heads, self._check_heads, self._read_topics, self._read_properties]
        if self.count and self._take_usual(texts=texts):
            steps = []
        if texts:
            steps.append(self._check_topics)
        if lost_pages:
            steps.append(self._check_pages)
        if check_crc:
            steps.append(self._check_bodies)
        for step in steps:
            if self.count:
                step()
        if not self.count:
            self.records = NO_RECORDS

    def keep(self, good: NDArray[np.bool_], reason: Callable[[int], str]) -> None:
        """Cut the records at the first one that is not good; `reason` gives the cause for its index."""
        if good.all():
            return
        count = int(good.argmin())
        self.reason = reason(count)
        self.records = self.records.part(slice(count))

    def _take_usual(self, *, texts: bool) -> bool:
        """Fill the columns by few steps if all records are of the usual form, version 1 and hosts of IPv4, and good.

        If one is of another form, or bad, nothing is done: the single steps find out which, and why.
        """
        records, octets = self.records, self._octets
        words = records.heads.view(_WORD).reshape(len(records.heads), -1)
        if not (words[:, _MAGIC_WORD] == _USUAL_MAGIC).all():
            return False
        if int(np.bitwise_or.reduce(words[:, _SYS_FLAG_WORD])) & _USUAL_HOST_BITS:
            return False
        body_length = records.body_length
        ends = records.position + records.size
        if int(ends.max()) > len(octets) or int(body_length.min()) < 0:
            return False
        body_position = records.position + _HEAD_V4.itemsize
        at = body_position + body_length
        topic_length = octets.take(at, mode="clip").astype(np.int32)  # what is elsewhere has no room for properties
        at += 1
        properties_position = at + topic_length
        properties_position += _PROPERTIES_LENGTH
        left = (ends - properties_position).astype(np.int32)
        if int(left.min()) < 0:
            return False
        if self._base is not None and not (records.physical_offset == records.position + self._base).all():
            return False
        if texts:
            length = octets[properties_position - 2].astype(np.int32) << 8
            length |= octets[properties_position - 1]
            if not (length == left).all() or int(left.max()) > MAX_PROPERTIES_LENGTH:
                return False
            if int(topic_length.max()) > MAX_TOPIC_LENGTH_V1:
                return False
        records.put(
            version=np.ones(len(at), np.uint8),
            body_position=body_position,
            topic_position=at,
            topic_length=topic_length,
            properties_position=properties_position,
            properties_length=left,
        )
        return True

    def _read_heads(self) -> None:
        if not self._believed:
            self._check_sizes()
        records = self.records
        body_position = records.position + _HEAD_V4.itemsize
        version = (records.magic != MAGIC_V1).astype(np.uint8) + np.uint8(1)
        records.put(version=version, body_position=body_position)
        bits = records.sys_flag & HOST_BITS
        if bits.any():
            for form in list(RECORD_HEADS)[1:]:
                body_position[bits == form] += _HEADS[form].itemsize - _HEAD_V4.itemsize
            head_size = body_position - records.position
            self.keep(head_size + 1 + _PROPERTIES_LENGTH <= records.size, lambda _: "its hosts do not fit")
            bits = self.records.sys_flag & HOST_BITS
            for form in list(RECORD_HEADS)[1:]:
                self._read_longer_heads(np.flatnonzero(bits == form), _HEADS[form])

    def _check_sizes(self) -> None:
        records = self.records
        magic, size, left = records.magic, records.size, len(self._octets) - records.position
        good = ((magic == MAGIC_V1) | (magic == MAGIC_V2)) & (size >= SMALLEST_RECORD) & (size <= left)
        self.keep(good, lambda i: f"it has the magic number {int(magic[i]) & _UINT32:08X} and the size {size[i]}")

    def _read_longer_heads(self, chosen: NDArray[np.intp], head: np.dtype[np.void]) -> None:
        if len(chosen):
            self.records.put_heads(chosen, gather(self._octets, self.records.position[chosen], head))

    def _check_heads(self) -> None:
        if self._base is not None:
            offsets = self.records.physical_offset
            self.keep(
                offsets == self.records.position + self._base,
                lambda i: f"it says that it begins at {offsets[i]}",
            )
        records = self.records
        body = records.body_length
        room = records.position + records.size - records.body_position - records.version - _PROPERTIES_LENGTH
        self.keep((body >= 0) & (body <= room), lambda i: f"its body cannot have {body[i]} bytes")

    def _read_topics(self) -> None:
        records, octets = self.records, self._octets
        at = records.body_position + records.body_length
        length = octets[at].astype(np.int32)
        version = records.version
        longest: NDArray[Any] | int = MAX_TOPIC_LENGTH_V1
        if (version > 1).any():
            length = np.where(version > 1, length << 8 | octets[at + 1], length)
            longest = np.where(version > 1, MAX_TOPIC_LENGTH_V2, MAX_TOPIC_LENGTH_V1)
        topic_position = at + version
        properties_position = topic_position + length + _PROPERTIES_LENGTH
        records.put(topic_position=topic_position, topic_length=length, properties_position=properties_position)
        self.keep(
            (length <= longest) & (properties_position <= records.position + records.size),
            lambda i: f"its topic cannot have {length[i]} bytes",
        )

    def _read_properties(self) -> None:
        records, octets = self.records, self._octets
        at = records.properties_position
        length = octets[at - 2].astype(np.int32) << 8 | octets[at - 1]
        records.put(properties_length=length)
        left = records.position + records.size - at
        self.keep(
            (length == left) & (length <= MAX_PROPERTIES_LENGTH),
            lambda i: f"its properties cannot have {length[i]} bytes where {left[i]} are left",
        )

    def _check_topics(self) -> None:
        good = np.empty(self.count, bool)
        for length, chosen in by_length(self.records.topic_length):
            if not length:
                good[chosen] = False
                continue
            texts = gather(self._octets, self.records.topic_position[chosen], np.dtype(f"V{length}"))
            if int(texts.view(np.int8).min()) > 0:  # ASCII, and no NUL
                good[chosen] = True
                continue
            texts = texts.view(np.uint8).reshape(-1, length)
            good[chosen] = texts.all(axis=1)
            numbers = np.arange(len(good))[chosen]
            for i in np.flatnonzero((texts > _ASCII_MAX).any(axis=1)).tolist():
                good[numbers[i]] &= _is_text(texts[i].tobytes())
        self.keep(good, lambda _: "its topic is no text")

    def _check_pages(self) -> None:
        """Find lost pages: only a text that begins with a zero byte, or spans several pages, can have one."""
        at, length = self.records.properties_position, self.records.properties_length
        suspect = (length > 0) & (at // PAGE != (at + length - 1) // PAGE)
        some = np.flatnonzero(length)
        suspect[some] |= self._octets[at[some]] == 0
        good = np.ones(self.count, bool)
        for i in np.flatnonzero(suspect).tolist():
            start = int(at[i])
            good[i] = not has_lost_page(bytes(self._octets[start : start + length[i]]), start)
        self.keep(good, lambda _: "a page of its properties is lost: it holds nothing but zeros")

    def _check_bodies(self) -> None:
        records = self.records
        view, crc32 = memoryview(self._buffer), zlib.crc32
        starts = records.body_position
        ends = starts + records.body_length
        found = np.array([crc32(view[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
        found &= BODY_CRC_MASK
        crc = records.body_crc
        # The CRC of an empty body is not checked: Apache does not check it either.
        self.keep(
            (found == crc) | (records.body_length == 0),
            lambda i: f"its body has the CRC {found[i]:08X} and should have {crc[i]:08X}",
        )


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
