"""Where the parts of whole records stand: their numbers, body, topic and properties.

Nearly all records are of version 1 and have hosts of IPv4. Many of these are taken apart by few steps; if one is of
another form, or damaged, all of them are, as the store does it (store.columns).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.record import HOST_BITS, SMALLEST, head_dtype
from rocketwire.store.records.columns import Batch, Buffer, gather
from rocketwire.wire.message import MAGIC_V1

_HEAD: Final = np.dtype(head_dtype(0))
#: The length of the properties is so long, and that of the topic one byte.
_PROPERTIES_LENGTH: Final = 2
#: The head as words, for comparisons that need not turn bytes round: where some stand, and values as they are there.
_WORD: Final = np.dtype(np.uint32)
_PLACES: Final = dict(_HEAD.fields or {})
_MAGIC_AT, _SYS_FLAG_AT = (_PLACES[name][1] // _WORD.itemsize for name in ("magic", "sys_flag"))
_MAGIC, _HOST_BITS = (int(np.array(value, ">i4").view(_WORD)) for value in (MAGIC_V1, HOST_BITS))
_NATIVE: Final[dict[int, np.dtype[Any]]] = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}
#: What the schema calls otherwise than the layout and the store's columns do.
_IN_HEADS: Final = {"store_size": "total_size"}
_IN_RECORDS: Final = {"store_size": "size", "prepared_transaction_offset": "prepared_offset"}
#: Where parts begin, and where they end.
Span: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class Layout(NamedTuple):
    """Parts of records. `number` gives a column by its name in the schema, in native byte order, times in ms."""

    number: Callable[[str], NDArray[Any]]
    body: Span
    topic: Span
    properties: Span


def layout_of(buffer: Buffer, positions: NDArray[np.int64]) -> Layout:
    """Take the records at these places apart.

    Raises:
        ValueError: there is no whole record at one of them.
    """
    usual = usual_layout(buffer, positions)
    if usual is not None:
        return usual
    if len(positions) and not _inside(buffer, positions):
        raise ValueError(f"positions outside of a buffer of {len(buffer)} bytes")
    batch = Batch(buffer, positions, None, believed=False)
    batch.check(check_crc=False, lost_pages=False)
    if batch.reason:
        raise ValueError(f"no record at position {positions[batch.count]}: {batch.reason}")
    records = batch.records()

    def number(name: str) -> NDArray[Any]:
        found: NDArray[Any] = getattr(records, _IN_RECORDS.get(name, name))
        return found

    return Layout(
        number,
        (records.body_position, records.body_position + records.body_length),
        (records.topic_position, records.topic_position + records.topic_length),
        (records.properties_position, records.properties_position + records.properties_length),
    )


def usual_layout(buffer: Buffer, positions: NDArray[np.int64]) -> Layout | None:
    """Take records of the usual form apart; None if not all are, or if parts reach out of one.

    What ends well within each is not looked at: the topic's text, and whether the properties are as long as it says.
    """
    if not len(positions) or not _inside(buffer, positions):
        return None
    octets = np.frombuffer(buffer, np.uint8)
    heads = gather(octets, positions, _HEAD)
    words = heads.view(_WORD).reshape(len(heads), -1)

    def number(name: str) -> NDArray[Any]:
        stored: NDArray[Any] = heads[_IN_HEADS.get(name, name)]
        return stored.astype(_NATIVE[stored.dtype.itemsize])

    if not (words[:, _MAGIC_AT] == _MAGIC).all() or int(np.bitwise_or.reduce(words[:, _SYS_FLAG_AT])) & _HOST_BITS:
        return None
    ends = positions + number("store_size")
    lengths = number("body_length")
    if int(ends.max()) > len(octets) or int(lengths.min()) < 0:
        return None
    bodies = positions + _HEAD.itemsize
    topics = bodies + lengths
    topic_lengths = octets.take(topics, mode="clip")  # what is taken elsewhere has no room for properties
    begins = topics + 1
    topic_ends = begins + topic_lengths
    properties = topic_ends + _PROPERTIES_LENGTH
    if int((ends - properties).min()) < 0:
        return None
    return Layout(number, (bodies, topics), (begins, topic_ends), (properties, ends))


def _inside(buffer: Buffer, positions: NDArray[np.int64]) -> bool:
    """Whether the smallest record would have room at each of these places, of which there are some."""
    return int(positions.view(np.uint64).max()) <= len(buffer) - SMALLEST  # what is less than 0 is a large number here
