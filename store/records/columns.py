"""Records as numpy columns: decoded from a buffer and validated.

Only the body has a checksum, so the other fields of a record must be consistent as well: its magic, its lengths, its
own physical offset and a topic that is text. After a crash, pages may be missing (all zero) while their neighbours were
written. The body would then fail its CRC, but the properties would pass, so on demand properties of which a whole page
is zero are rejected. Without a crash such zeros are what a client sent.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.record import HOST_BITS, HOST_FORMS, SMALLEST, head_dtype
from rocketwire.store.records.lost_pages import PAGE, has_lost_page
from rocketwire.wire.message import (
    BODY_CRC_MASK,
    MAGIC_V1,
    MAGIC_V2,
    MAX_PROPERTIES_LENGTH,
    MAX_TOPIC_LENGTH_V1,
    MAX_TOPIC_LENGTH_V2,
)

Buffer: TypeAlias = bytes | bytearray | memoryview | mmap.mmap

_UINT32: Final = 0xFFFFFFFF
_ASCII_MAX: Final = 0x7F
#: Bytes of the length of the properties; those of the topic's length depend on the record's version.
_PROPERTIES_LENGTH: Final = 2
_HEADS: Final = {bits: np.dtype(head_dtype(bits)) for bits in HOST_FORMS}
_HEAD_V4: Final = _HEADS[0]
#: Columns that come from the head: the head's name for them, and what they are here.
_FIELDS: Final[dict[str, tuple[str, type[np.signedinteger[Any]]]]] = {
    "physical_offset": ("physical_offset", np.int64),
    "size": ("total_size", np.int32),
    "body_crc": ("body_crc", np.int32),
    "queue_id": ("queue_id", np.int32),
    "flag": ("flag", np.int32),
    "sys_flag": ("sys_flag", np.int32),
    "queue_offset": ("queue_offset", np.int64),
    "born_timestamp": ("born_timestamp", np.int64),
    "store_timestamp": ("store_timestamp", np.int64),
    "reconsume_times": ("reconsume_times", np.int32),
    "prepared_offset": ("prepared_transaction_offset", np.int64),
    "body_length": ("body_length", np.int32),
}
#: Those whose place depends on the size of a host.
_BEHIND_A_HOST: Final = ("store_timestamp", "reconsume_times", "prepared_offset", "body_length")


class Records(NamedTuple):
    """Whole records in the order of the log: columns of one length, in native byte order.

    Positions are those in the buffer; times are in ms, lengths in bytes.
    """

    position: NDArray[np.int64]
    physical_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    version: NDArray[np.uint8]
    body_crc: NDArray[np.int32]
    queue_id: NDArray[np.int32]
    flag: NDArray[np.int32]
    sys_flag: NDArray[np.int32]
    reconsume_times: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    born_timestamp: NDArray[np.int64]
    store_timestamp: NDArray[np.int64]
    prepared_offset: NDArray[np.int64]
    body_position: NDArray[np.int64]
    body_length: NDArray[np.int32]
    topic_position: NDArray[np.int64]
    topic_length: NDArray[np.int32]
    properties_position: NDArray[np.int64]
    properties_length: NDArray[np.int32]


_KINDS: Final = {name: kind for name, (_, kind) in _FIELDS.items()} | {
    "version": np.uint8,
    "topic_length": np.int32,
    "properties_length": np.int32,
}
#: No records.
NOTHING: Final = Records(**{name: np.empty(0, _KINDS.get(name, np.int64)) for name in Records._fields})


class Batch:
    """Records whose positions and sizes are known, checked step by step; each step cuts them at the first bad one.

    Attributes:
        count: So many records are good so far.
        reason: What is wrong with the next one; empty when all are good.
    """

    def __init__(
        self, buffer: Buffer, positions: NDArray[np.int64], base: int | None, *, believed: bool = True
    ) -> None:
        """Take records, each of which has at least the bytes of the smallest record in the buffer.

        `base` is None if their physical offsets are not to be checked; `believed` if their sizes and magic numbers are
        checked already.
        """
        self.count = len(positions)
        self.reason = ""
        self._buffer = buffer
        self._octets = np.frombuffer(buffer, np.uint8)
        self._base = base
        self._believed = believed
        self._columns: dict[str, NDArray[Any]] = {"position": positions}

    def records(self) -> Records:
        """The columns of the good records."""
        if not self.count:
            return NOTHING
        return Records(**{name: self._columns[name] for name in Records._fields})

    def check(self, *, check_crc: bool, lost_pages: bool) -> None:
        """Fill the columns and check them, the cheap steps first."""
        steps = [self._read_heads, self._check_heads, self._read_topics, self._read_properties, self._check_topics]
        if lost_pages:
            steps.append(self._check_pages)
        if check_crc:
            steps.append(self._check_bodies)
        for step in steps:
            if self.count:
                step()

    def keep(self, good: NDArray[np.bool_], reason: Callable[[int], str]) -> None:
        """Cut all columns at the first record that is not good; `reason` gives the cause for its index."""
        if good.all():
            return
        self.count = int(good.argmin())
        self.reason = reason(self.count)
        self._columns = {name: column[: self.count] for name, column in self._columns.items()}

    def _read_heads(self) -> None:
        columns = self._columns
        heads = gather(self._octets, columns["position"], _HEAD_V4)
        for name, (field, kind) in _FIELDS.items():
            columns[name] = heads[field].astype(kind)
        columns["magic"] = heads["magic"].astype(np.int32)
        if not self._believed:
            self._check_sizes()
            columns = self._columns
        columns["version"] = np.where(columns["magic"] == MAGIC_V1, 1, 2).astype(np.uint8)
        columns["head_size"] = np.full(self.count, _HEAD_V4.itemsize, np.int64)
        bits = columns["sys_flag"] & HOST_BITS
        if bits.any():
            for form in HOST_FORMS[1:]:
                columns["head_size"][bits == form] = _HEADS[form].itemsize
            self.keep(
                columns["head_size"] + 1 + _PROPERTIES_LENGTH <= columns["size"], lambda _: "its hosts do not fit"
            )
            bits = self._columns["sys_flag"] & HOST_BITS
            for form in HOST_FORMS[1:]:
                self._read_longer_heads(np.flatnonzero(bits == form), _HEADS[form])

    def _check_sizes(self) -> None:
        magic, size, left = (
            self._columns["magic"],
            self._columns["size"],
            len(self._octets) - self._columns["position"],
        )
        good = ((magic == MAGIC_V1) | (magic == MAGIC_V2)) & (size >= SMALLEST) & (size <= left)
        self.keep(good, lambda i: f"it has the magic number {int(magic[i]) & _UINT32:08X} and the size {size[i]}")

    def _read_longer_heads(self, chosen: NDArray[np.intp], head: np.dtype[np.void]) -> None:
        columns = self._columns
        if len(chosen):
            heads = gather(self._octets, columns["position"][chosen], head)
            for name in _BEHIND_A_HOST:
                columns[name][chosen] = heads[_FIELDS[name][0]]

    def _check_heads(self) -> None:
        columns = self._columns
        offsets = columns["physical_offset"]
        if self._base is not None:
            self.keep(
                offsets == columns["position"] + self._base,
                lambda i: f"it says that it begins at {offsets[i]}",
            )
        columns = self._columns
        body = columns["body_length"]
        room = columns["size"] - columns["head_size"] - columns["version"] - _PROPERTIES_LENGTH
        self.keep((body >= 0) & (body <= room), lambda i: f"its body cannot have {body[i]} bytes")

    def _read_topics(self) -> None:
        columns, octets = self._columns, self._octets
        columns["body_position"] = columns["position"] + columns["head_size"]
        at = columns["body_position"] + columns["body_length"]
        length = octets[at].astype(np.int32)
        version = columns["version"]
        longest: NDArray[Any] | int = MAX_TOPIC_LENGTH_V1
        if (version > 1).any():
            length = np.where(version > 1, length << 8 | octets[at + 1], length)
            longest = np.where(version > 1, MAX_TOPIC_LENGTH_V2, MAX_TOPIC_LENGTH_V1)
        columns["topic_length"] = length
        columns["topic_position"] = at + version
        columns["properties_position"] = columns["topic_position"] + length + _PROPERTIES_LENGTH
        self.keep(
            (length <= longest) & (columns["properties_position"] <= columns["position"] + columns["size"]),
            lambda i: f"its topic cannot have {length[i]} bytes",
        )

    def _read_properties(self) -> None:
        columns, octets = self._columns, self._octets
        at = columns["properties_position"]
        length = octets[at - 2].astype(np.int32) << 8 | octets[at - 1]
        columns["properties_length"] = length
        left = columns["position"] + columns["size"] - at
        self.keep(
            (length == left) & (length <= MAX_PROPERTIES_LENGTH),
            lambda i: f"its properties cannot have {length[i]} bytes where {left[i]} are left",
        )

    def _check_topics(self) -> None:
        good = np.empty(self.count, bool)
        for length, chosen in by_length(self._columns["topic_length"]):
            if not length:
                good[chosen] = False
                continue
            texts = gather(self._octets, self._columns["topic_position"][chosen], np.dtype(f"V{length}"))
            texts = texts.view(np.uint8).reshape(-1, length)
            if texts.all() and int(texts.max()) <= _ASCII_MAX:
                good[chosen] = True
                continue
            good[chosen] = texts.all(axis=1)
            for i in np.flatnonzero((texts > _ASCII_MAX).any(axis=1)).tolist():
                good[chosen[i]] &= _is_text(texts[i].tobytes())
        self.keep(good, lambda _: "its topic is no text")

    def _check_pages(self) -> None:
        """Find lost pages: only a text that begins with a zero byte, or spans several pages, can have one."""
        at, length = self._columns["properties_position"], self._columns["properties_length"]
        suspect = (length > 0) & (at // PAGE != (at + length - 1) // PAGE)
        some = np.flatnonzero(length)
        suspect[some] |= self._octets[at[some]] == 0
        good = np.ones(self.count, bool)
        for i in np.flatnonzero(suspect).tolist():
            start = int(at[i])
            good[i] = not has_lost_page(bytes(self._octets[start : start + length[i]]), start)
        self.keep(good, lambda _: "a page of its properties is lost: it holds nothing but zeros")

    def _check_bodies(self) -> None:
        columns = self._columns
        view, crc32 = memoryview(self._buffer), zlib.crc32
        starts = columns["body_position"]
        ends = starts + columns["body_length"]
        found = np.array([crc32(view[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
        found &= BODY_CRC_MASK
        crc = columns["body_crc"]
        # The CRC of an empty body is not checked: Apache does not check it either.
        self.keep(
            (found == crc) | (columns["body_length"] == 0),
            lambda i: f"its body has the CRC {found[i]:08X} and should have {crc[i]:08X}",
        )


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def gather(octets: NDArray[np.uint8], positions: NDArray[np.int64], kind: np.dtype[Any]) -> NDArray[Any]:
    """Copies of the items of one kind that begin at these positions, all of which lie within the octets."""
    opaque = np.dtype((np.void, kind.itemsize))
    windows: NDArray[np.void] = np.ndarray((len(octets) - kind.itemsize + 1,), opaque, octets, strides=(1,))
    return windows[positions].view(kind)


def by_length(lengths: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each length that occurs, and the indices of the items of that length."""
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        yield length, np.flatnonzero(lengths == length)


class _Codes(dict[bytes, int]):
    """A number for each key, assigned in the order of arrival."""

    def __missing__(self, key: bytes) -> int:
        code = self[key] = len(self)
        return code


def topics_of(buffer: Buffer, records: Records) -> tuple[NDArray[np.int32], list[str]]:
    """A code for each record's topic, and the topics by their codes."""
    codes = np.empty(len(records.position), np.int32)
    known = _Codes()
    octets = np.frombuffer(buffer, np.uint8)
    for length, chosen in by_length(records.topic_length):
        names = gather(octets, records.topic_position[chosen], np.dtype(f"S{length}"))
        # Usually many in a row have one topic.
        bounds = np.concatenate([[0], np.flatnonzero(names[1:] != names[:-1]) + 1, [len(names)]])
        found = list(map(known.__getitem__, names[bounds[:-1]].tolist()))
        codes[chosen] = np.repeat(found, np.diff(bounds))
    return codes, [name.decode() for name in known]
