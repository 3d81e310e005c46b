"""Finds whole records by their sizes and magic numbers, and checks them as the store does (its `checked_batch`)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.columns.twin.gathering import gathered
from rocketwire.store.layout.record import SMALLEST
from rocketwire.store.records.checked_batch import CheckedRecords
from rocketwire.store.records.columns import Buffer, RecordColumns
from rocketwire.wire.facts.record import BODY_CRC_MASK, MAGIC_AT, MAGIC_V1, MAGIC_V2

#: So much of a buffer is searched for records at once.
_BLOCK: Final = 512 << 10
#: Larger records are stepped over one by one: searching all their bytes for magic numbers would cost more.
_LARGE: Final = 512
#: So many steps before the sizes are checked again.
_STEPS: Final = 1024
#: So many at first, to know how large records are.
_FIRST_STEPS: Final = 32
_SIZE_AND_MAGIC: Final = struct.Struct(">ii")
#: The byte with which both magic numbers begin.
_MAGIC_BYTE: Final = MAGIC_V1 >> 24 & 0xFF


def whole_records(
    buffer: Buffer, *, base: int | None, position: int, end: int, most: int
) -> tuple[NDArray[np.int64], int]:
    """The consecutive records from a position on, and the position behind them."""
    places, position = _chain(buffer, position, end, most)
    good = check(buffer, places, np.diff(places, append=position), base=base)
    if good.all():
        return places, position
    count = int(good.argmin())
    return places[:count].copy(), int(places[count])


def check(
    buffer: Buffer, positions: NDArray[np.int64], sizes: NDArray[np.int64], *, base: int | None
) -> NDArray[np.bool_]:
    """Which of these places hold a whole record of that size."""
    good = np.zeros(len(positions), bool)
    rows = np.flatnonzero((positions >= 0) & (positions <= len(buffer) - SMALLEST))
    sieve = _Sieve(buffer, positions[rows], base)
    sieve.check(check_crc=False, lost_pages=False)
    rows = rows[sieve.rows]
    good[rows] = sieve.records.size == sizes[rows]
    return good


def records_at(buffer: Buffer, positions: NDArray[np.int64]) -> RecordColumns:
    """The records at these places. What `check` finds out about their texts is not looked at again.

    Raises:
        ValueError: there is no whole record at one of them.
    """
    # What is less than 0 is a large number here.
    if len(positions) and int(positions.view(np.uint64).max()) > len(buffer) - SMALLEST:
        raise ValueError(f"positions outside of a buffer of {len(buffer)} bytes")
    batch = CheckedRecords(buffer, positions, None, believed=False)
    batch.check(check_crc=False, lost_pages=False, texts=False)
    if batch.reason:
        raise ValueError(f"no record at position {positions[batch.count]}: {batch.reason}")
    return batch.records


def topics(buffer: Buffer, positions: NDArray[np.int64]) -> tuple[NDArray[np.int32], list[bytes]]:
    """A code for each record's topic, and the topics by their codes."""
    records = records_at(buffer, positions)
    ends = records.topic_position + records.topic_length
    names = gathered(buffer, records.topic_position, ends, pa.binary()).dictionary_encode()
    codes: NDArray[np.int32] = names.indices.to_numpy()
    return codes, names.dictionary.to_pylist()


def bodies_good(buffer: Buffer, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which bodies have the CRC that their records tell."""
    records = records_at(buffer, positions)
    begins, ends = records.body_position, records.body_position + records.body_length
    with memoryview(buffer) as view:
        ranges = map(slice, begins.tolist(), ends.tolist())
        found = np.fromiter(map(zlib.crc32, map(view.__getitem__, ranges)), np.int64, len(begins))
    good: NDArray[np.bool_] = ((found & BODY_CRC_MASK) == records.body_crc) | (begins == ends)
    return good


class _Sieve(CheckedRecords):
    """A batch that skips bad records: it keeps all good ones, and `rows` has their numbers."""

    def __init__(self, buffer: Buffer, positions: NDArray[np.int64], base: int | None) -> None:
        super().__init__(buffer, positions, base, believed=False)
        self.rows = np.arange(len(positions))

    def keep(self, good: NDArray[np.bool_], reason: Callable[[int], str]) -> None:  # noqa: ARG002 - nobody asks why
        if not good.all():
            self.records = self.records.part(good)
            self.rows = self.rows[good]


def _believable(octets: NDArray[np.uint8], places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places where a record may begin by its magic number and its size, and those sizes.

    Behind each of the places is room for the smallest record.
    """
    windows: NDArray[np.int32] = np.ndarray((len(octets) - 3,), ">i4", octets, strides=(1,))
    magics = windows[places + MAGIC_AT]
    places = places[(magics == MAGIC_V1) | (magics == MAGIC_V2)]
    sizes = windows[places].astype(np.int64)
    believable = (sizes >= SMALLEST) & (sizes <= len(octets) - places)
    return (places, sizes) if believable.all() else (places[believable], sizes[believable])


def _chain(buffer: Buffer, position: int, end: int, most: int) -> tuple[NDArray[np.int64], int]:
    """The places from a position on that follow each other by their sizes, and where the last one ends."""
    octets = np.frombuffer(buffer, np.uint8)[:end]
    found: list[NDArray[np.int64]] = []
    room, mean, steps = most, _LARGE + 1, _FIRST_STEPS
    while room > 0 and end - position >= SMALLEST:
        if mean > _LARGE:
            places, position = _stepped(buffer, position, end, min(room, steps))
            steps = _STEPS
        else:
            places, position = _searched(octets, position, room)
        if not len(places):
            break
        found.append(places)
        room -= len(places)
        mean = (position - int(places[0])) // len(places)
    return np.concatenate(found) if found else np.empty(0, np.int64), position


def _stepped(buffer: Buffer, position: int, end: int, most: int) -> tuple[NDArray[np.int64], int]:
    """The same, from one size to the next."""
    places: list[int] = []
    unpack, add = _SIZE_AND_MAGIC.unpack_from, places.append
    last = end - SMALLEST
    for _ in range(most):
        if position > last:
            break
        size, magic = unpack(buffer, position)
        if (magic != MAGIC_V1 and magic != MAGIC_V2) or size < SMALLEST or size > end - position:  # noqa: PLR1714 - fast
            break
        add(position)
        position += size
    return np.array(places, np.int64), position


def _searched(octets: NDArray[np.uint8], position: int, most: int) -> tuple[NDArray[np.int64], int]:
    """The same within a block, out of all places where a magic number stands."""
    last = min(position + _BLOCK, len(octets) - SMALLEST + 1)
    places = _places_of(_MAGIC_BYTE, octets[position + MAGIC_AT : last + MAGIC_AT]) + position
    places, sizes = _believable(octets, places)
    if not len(places) or places[0] != position:
        return places[:0], position
    # Mostly each is followed by the next; bytes within a body may look like a record, though.
    breaks = np.append(np.flatnonzero(places[:-1] + sizes[:-1] != places[1:]), len(places) - 1)
    if len(breaks) > 1:
        chosen = _unbroken(places, sizes, breaks)
        places, sizes = places[chosen], sizes[chosen]
    places, sizes = places[:most], sizes[:most]
    return places, int(places[-1] + sizes[-1])


def _places_of(octet: int, octets: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Positions of a rare value: eight are checked together, which is twice as fast as one by one."""
    marks = np.zeros((len(octets) + 7) // 8 * 8, np.bool_)
    np.equal(octets, octet, out=marks[: len(octets)])
    eights = np.flatnonzero(marks.view(np.uint64) != 0)
    found = np.flatnonzero(marks.reshape(-1, 8)[eights])
    places: NDArray[np.int64] = eights[found >> 3] * 8 + (found & 7)
    return places


def _unbroken(places: NDArray[np.int64], sizes: NDArray[np.int64], breaks: NDArray[np.intp]) -> NDArray[np.intp]:
    """The numbers of the places in the first one's chain; at a break the next place is not that of the next record."""
    runs: list[NDArray[np.intp]] = []
    first = 0
    while True:
        last = int(breaks[np.searchsorted(breaks, first)])
        runs.append(np.arange(first, last + 1))
        following = int(places[last] + sizes[last])
        first = int(np.searchsorted(places, following))
        if first == len(places) or places[first] != following:
            return np.concatenate(runs)
